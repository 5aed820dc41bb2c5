package main

import (
	"context"
	"time"
)

// scaleRounds is the number of single drifts at every size.
const scaleRounds = 40

// scaling measures the cost of increasing numbers of locked releases, each in a new process. Releases are created
// just before they are locked.
func (b *bench) scaling(ctx context.Context) error {
	reference, err := b.world(ctx, "reference", 1, upgradeObjects) // for the floor
	if err != nil {
		return err
	}
	if err := b.fresh(ctx); err != nil {
		return err
	}
	empty, err := b.restingMemory(ctx)
	if err != nil {
		return err
	}
	w := &world{floor: reference.floor, noFloor: true}
	var points []point
	for _, releases := range b.Scale {
		if err := b.grow(ctx, w, "scale", releases, releases*b.PerRelease); err != nil {
			return err
		}
		p, err := b.point(ctx, w)
		if err != nil {
			return err
		}
		points = append(points, p)
	}
	b.section.scale(points, empty)
	return nil
}

// point measures one size.
func (b *bench) point(ctx context.Context, w *world) (p point, err error) {
	p = point{Releases: len(w.releases), Objects: len(w.locked)}
	progress("locking %d objects in %d releases", p.Objects, p.Releases)
	if err := b.fresh(ctx); err != nil {
		return p, err
	}
	took, err := b.lock(ctx, w)
	if err != nil {
		return p, err
	}
	resting, err := b.restingMemory(ctx)
	if err != nil {
		return p, err
	}
	p.Lock, p.Memory, p.Own = took.Seconds(), float64(resting.Now)/bytesPerMiB, float64(resting.Own())/bytesPerMiB
	err = b.turns(ctx, w, turns{
		name: singleDrift, rounds: scaleRounds, gap: alone,
		pick: b.anyOf, tamper: b.drift,
		quantiles: func(times [2][]time.Duration) {
			p.Floor, p.Drift = milliseconds(quantile(times[0], 0.5)), milliseconds(quantile(times[1], 0.5))
		},
	})
	if err != nil {
		return p, err
	}
	return p, b.unlock(ctx, w)
}
