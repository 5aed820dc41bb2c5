package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// Rates of an attacker, and the permitted slowdown of single reverts in another namespace.
const (
	fightRate     = 50 // edits a second of the objects of one release
	bigObjects    = 2000
	bigRecordRate = 1 // a second that the record of a release with so many objects is written anew

	neighbourMedian = 2.0 // times what it takes without the attacker, as the next one
	neighbourP99    = 4.0
)

// attack is a continuous activity of a tenant.
type attack struct {
	name string
	rate int // times a second
	once func(ctx context.Context, n int) error
}

// neighbour measures the cost of one tenant's releases for another tenant: single drifts of a release without
// attackers, and then with each of them.
func (b *bench) neighbour(ctx context.Context) error {
	victim, err := b.world(ctx, "victim", 1, 10)
	if err != nil {
		return err
	}
	fighter, err := b.world(ctx, "fighter", 1, 20)
	if err != nil {
		return err
	}
	big, err := b.world(ctx, "big", 1, bigObjects)
	if err != nil {
		return err
	}
	all := &world{releases: slices.Concat(victim.releases, fighter.releases, big.releases)}
	if _, err := b.lock(ctx, all); err != nil {
		return err
	}
	for _, a := range []attack{
		{fmt.Sprintf("beside %d edits/s of another namespace", fightRate), fightRate,
			func(ctx context.Context, n int) error {
				return b.drift(ctx, fighter.locked[n%len(fighter.locked)])
			}},
		{fmt.Sprintf("beside a record of %d objects that changes all the time", bigObjects), bigRecordRate,
			func(context.Context, int) error {
				return b.setup.record(revision{release: big.releases[0], number: 1, objects: big.locked, replace: true})
			}},
	} {
		if err := b.besides(ctx, victim, a); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return b.unlock(ctx, all)
}

// besides measures single drifts alone and, by turns, beside an attack.
func (b *bench) besides(ctx context.Context, victim *world, a attack) error {
	const parts = 4 // alone and attacked by turns, so that what else the machine does falls on both
	progress("%s: %d rounds", a.name, b.Rounds)
	var alone, attacked []time.Duration
	for range parts {
		times, err := b.drifts(ctx, victim, b.Rounds/parts)
		if err != nil {
			return err
		}
		alone = append(alone, times...)
		group, attacking := errgroup.WithContext(ctx)
		attacking, stop := context.WithCancel(attacking)
		group.Go(func() error { return a.goOn(attacking) })
		times, err = b.drifts(ctx, victim, b.Rounds/parts)
		stop()
		if err := errors.Join(err, group.Wait()); err != nil {
			return err
		}
		attacked = append(attacked, times...)
	}
	b.section.neighbour(a.name, alone, attacked)
	return nil
}

// goOn attacks until ctx ends.
func (a attack) goOn(ctx context.Context) error {
	ticker := time.NewTicker(time.Second / time.Duration(a.rate))
	defer ticker.Stop()
	for n := 0; ; n++ {
		if err := a.once(ctx, n); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// drifts makes objects of a world drift, one after the other, and returns the latency of each revert.
func (b *bench) drifts(ctx context.Context, w *world, rounds int) ([]time.Duration, error) {
	var times []time.Duration
	for round := range warmUp + rounds {
		if err := process.Sleep(ctx, alone); err != nil {
			return nil, err
		}
		took, err := b.once(ctx, b.anyOf(w.locked), b.drift)
		if err != nil {
			return nil, err
		}
		if round >= warmUp {
			times = append(times, took)
		}
	}
	return times, nil
}
