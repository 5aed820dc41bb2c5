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
	achieved, share, err := b.processorAt(ctx, "churn", churnRate, b.updateStatus(deployments))
	if err != nil {
		return err
	}
	b.section.churn(churnRate, achieved, share)
	return b.driftAmongUpdates(ctx, deployments)
}

// processorAt calls write for a while at a rate per second. It returns the achieved rate, and the operator's share of a
// core meanwhile.
func (b *bench) processorAt(
	ctx context.Context, name string, rate int, write func(context.Context, int) error,
) (achieved, share float64, err error) {
	profiled := b.profileWhile(ctx, name)
	before, err := b.operator.Processor()
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	n, err := atRate(ctx, b.ChurnTime, rate, write)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(begun)
	after, err := b.operator.Processor()
	return float64(n) / took.Seconds(), float64(after-before) / float64(took), errors.Join(err, <-profiled)
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
		updates, err = atRate(updating, b.ChurnTime, rate, b.updateStatus(deployments))
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

// updateStatus returns a function that changes the status of the nth Deployment.
func (b *bench) updateStatus(deployments []object) func(ctx context.Context, n int) error {
	return func(ctx context.Context, n int) error {
		body := fmt.Appendf(nil,
			`{"status":{"observedGeneration":1,"conditions":[{"type":"Progressing","status":"True","message":"update %d"}]}}`, n)
		return b.tamper.patch(ctx, deployments[n%len(deployments)], types.MergePatchType, body, "status")
	}
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
