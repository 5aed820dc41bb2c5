package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// afterStorms names the memory of the operator after the storms.
const afterStorms = "after the storms"

// bursts measures one release whose objects all drift at once.
func (b *bench) bursts(ctx context.Context) error {
	w, err := b.lockedWorld(ctx, "burst", 1, b.Burst)
	if err != nil {
		return err
	}
	if err := b.stormTurns(ctx, "one release all drifted", w,
		stormKind{times: b.Storms, limit: burstLimit}); err != nil {
		return err
	}
	if err := b.sustained(ctx, w); err != nil {
		return err
	}
	return b.unlock(ctx, w)
}

// storms measures storms over many releases.
func (b *bench) storms(ctx context.Context) error {
	w, err := b.manyLocked(ctx)
	if err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		kind stormKind
	}{
		{"storm, all releases at once", stormKind{mixed: true, times: b.Storms, limit: stormLimit}},
		{"storm, release by release", stormKind{times: 1, limit: stormLimit}},
	} {
		if err := b.stormTurns(ctx, s.name, w, s.kind); err != nil {
			return err
		}
	}
	return b.lockedMemory(ctx, w, afterStorms)
}

// stormKind describes a storm over the objects of a world: release by release or, when mixed, all of them at once;
// its repetitions; and the target as a share of the floor's throughput.
type stormKind struct {
	mixed bool
	times int
	limit float64
}

// stormTurns measures storms over all objects of a world for the floor and the operator alternately.
func (b *bench) stormTurns(ctx context.Context, name string, w *world, kind stormKind) error {
	progress("%s: %d objects, %d times", name, len(w.locked), kind.times)
	var rates, shares [2][]float64
	counted := requests{}
	for range kind.times {
		for which, s := range w.sides() {
			if err := process.Sleep(ctx, pause); err != nil {
				return err
			}
			mark, err := b.audit.mark()
			if err != nil {
				return err
			}
			var profiled <-chan error
			if s.agent == agentOperator {
				profiled = b.profileWhile(ctx, name)
			}
			objects := s.objects
			if kind.mixed {
				objects = slices.Clone(objects)
				b.random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
			}
			rate, share, err := b.storm(ctx, objects)
			if err != nil {
				return err
			}
			rates[which], shares[which] = append(rates[which], rate), append(shares[which], share)
			if s.agent != agentOperator {
				continue
			}
			if err := process.Sleep(ctx, pause); err != nil { // for the reports, which are to be counted
				return err
			}
			made, err := b.audit.since(mark, agentOperator)
			if err != nil {
				return err
			}
			for request, n := range made {
				counted[request] += n
			}
			if err := <-profiled; err != nil {
				return err
			}
		}
	}
	b.section.storm(name, kind.limit, rates, shares[1])
	b.section.requests(name, counted, kind.times*len(w.locked))
	return b.operator.Profile(ctx, "allocs", filepath.Join(b.profiles, name+".allocs"))
}

// storm tampers with all objects as fast as it can. It returns the restorations per second, from the first tampering
// to the last restoration, and the share of restored objects.
func (b *bench) storm(ctx context.Context, objects []object) (rate, share float64, err error) {
	marked := b.observer.mark(objects...)
	begun := time.Now()
	err = each(ctx, tamperers, objects, b.drift)
	if err != nil {
		return 0, 0, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	times, err := b.observer.restored(waiting, marked)
	if err != nil {
		return 0, 0, errors.Join(err, b.floor.error())
	}
	if ctx.Err() != nil {
		return 0, 0, ctx.Err()
	}
	last := begun
	for _, at := range times {
		if at.After(last) {
			last = at
		}
	}
	return float64(len(times)) / last.Sub(begun).Seconds(), float64(len(times)) / float64(len(objects)), nil
}
