package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
)

// churn measures the operator's processor time while the status of locked Deployments changes all the time.
func (b *bench) churn(ctx context.Context) error {
	w, err := b.manyLocked(ctx)
	if err != nil {
		return err
	}
	progress("status updates: %d per second for %s", churnRate, b.ChurnTime)
	var deployments []object
	for _, o := range w.locked {
		if o.deployment {
			deployments = append(deployments, o)
		}
	}
	profiled := b.profileWhile(ctx, "churn")
	before, err := b.operator.Processor()
	if err != nil {
		return err
	}
	begun := time.Now()
	updates, err := b.updateStatus(ctx, deployments, churnRate)
	if err != nil {
		return fmt.Errorf("update a status: %w", err)
	}
	took := time.Since(begun)
	spent, err := b.operator.Processor()
	if err != nil {
		return err
	}
	b.section.churn(churnRate, float64(updates)/took.Seconds(), float64(spent-before)/float64(took))
	return errors.Join(<-profiled, b.driftAmongUpdates(ctx, deployments))
}

// timesChurn is how many times the rate of status updates drift must still be found at.
const timesChurn = 4

// driftAmongUpdates makes objects drift while their status is updated as fast as the API server can.
func (b *bench) driftAmongUpdates(ctx context.Context, deployments []object) error {
	rate := timesChurn * churnRate
	progress("%d drifts among status updates: %d per second for %s", len(deployments), rate, b.ChurnTime)
	group, updating := errgroup.WithContext(ctx)
	begun, updates, took := time.Now(), 0, time.Duration(0)
	group.Go(func() (err error) {
		updates, err = b.updateStatus(updating, deployments, rate)
		took = time.Since(begun)
		return err
	})
	_, share, err := b.storm(ctx, deployments)
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	b.section.churnDrift(rate, float64(updates)/took.Seconds(), share)
	return nil
}

// updateStatus changes the status of Deployments, one after another and at a rate per second, and returns how often.
func (b *bench) updateStatus(ctx context.Context, deployments []object, rate int) (int, error) {
	return atRate(ctx, b.ChurnTime, rate, func(ctx context.Context, n int) error {
		body := fmt.Appendf(nil,
			`{"status":{"observedGeneration":1,"conditions":[{"type":"Progressing","status":"True","message":"update %d"}]}}`, n)
		return b.tamper.patch(ctx, deployments[n%len(deployments)], types.MergePatchType, body, "status")
	})
}

// atRate calls write for a time at a rate per second, with an increasing number, and returns the number of calls.
func atRate(
	ctx context.Context, duration time.Duration, rate int, write func(context.Context, int) error,
) (int, error) {
	batch := max(1, rate/50)
	ticker := time.NewTicker(time.Second * time.Duration(batch) / time.Duration(rate))
	defer ticker.Stop()
	end := time.Now().Add(duration)
	done := 0
	for time.Now().Before(end) {
		round := make([]int, batch)
		for i := range round {
			round[i] = done + i
		}
		if err := each(ctx, batch, round, write); err != nil {
			return done, err
		}
		done += batch
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return done, ctx.Err()
		}
	}
	return done, nil
}
