package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// side is one of the two reactors: the floor or the operator.
type side struct {
	agent   string
	objects []object
}

// sides returns the floor, then the operator, with their objects of a world.
func (w *world) sides() [2]side {
	return [2]side{{agentFloor, w.floor}, {agentOperator, w.locked}}
}

// The measures of single drifts.
const (
	singleDrift = "single drift"
	oneRelease  = "one release again and again"
	oneObject   = "one object again and again"
	deletions   = "deletion"

	manyDrifts    = "different releases right after one another"
	manyDeletions = "deletions in different releases right after one another"
)

// onOneObject is the number of drifts in a row on the same object. Those after some twenty wait for a second.
const onOneObject = 15

// latency measures single drifts and deletions in one release of 80 objects: so many that each ConfigMap has one row of
// drifts.
func (b *bench) latency(ctx context.Context) error {
	w, err := b.lockedWorld(ctx, "single", 1, 80)
	if err != nil {
		return err
	}
	profiled := b.profileWhile(ctx, "single")
	calls := 0
	again := func(objects []object) object { // a ConfigMap, and the next one before that counts as a fight
		calls++
		return objects[calls/(2*onOneObject)*2%len(objects)]
	}
	for _, t := range []turns{
		{name: singleDrift, rounds: b.Rounds, gap: alone, pick: b.anyOf, tamper: b.drift},
		{name: oneRelease, rounds: b.Rounds, pick: b.anyOf, tamper: b.drift},
		{name: oneObject, rounds: b.Rounds, pick: again, tamper: b.drift},
		{name: deletions, rounds: b.Deletions, gap: alone, pick: b.anyOf, tamper: b.tamper.delete},
	} {
		if err := b.turns(ctx, w, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return errors.Join(<-profiled, b.unlock(ctx, w))
}

// Parameters of the section of drifts in many releases: their number, and the time before every drift. With it the
// operator has some 30 drifts a second to revert.
const (
	manyReleases = 200
	manyGap      = 10 * time.Millisecond
)

// across measures drifts and deletions of different releases right after one another.
func (b *bench) across(ctx context.Context) error {
	w, err := b.lockedWorld(ctx, "many", manyReleases, 2*manyReleases)
	if err != nil {
		return err
	}
	next := 0
	inTurn := func(objects []object) object { // two turns share a release's number, one for each side
		next++
		return objects[(next/2*2)%len(objects)]
	}
	for _, t := range []turns{
		{name: manyDrifts, rounds: b.Rounds, gap: manyGap, pick: inTurn, tamper: b.drift},
		{name: manyDeletions, rounds: b.Deletions, gap: manyGap, pick: inTurn, tamper: b.tamper.delete},
	} {
		if err := b.turns(ctx, w, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return b.unlock(ctx, w)
}

// alone is the time before a drift that is independent of the previous one. It is longer than 100 ms: for so long the
// API server delays a consistent list from its cache after another one.
const alone = 120 * time.Millisecond

// turns is a number of rounds; in each, the floor and the operator restore one object.
type turns struct {
	name   string
	rounds int
	// gap is the time before every tampering.
	gap    time.Duration
	pick   func([]object) object
	tamper func(context.Context, object) error
	// quantiles, if set, receives the times of the floor and of the operator; no rows are added for them then.
	quantiles func([2][]time.Duration)
}

// turns measures rounds of one restoration each by the floor and the operator.
func (b *bench) turns(ctx context.Context, w *world, t turns) error {
	progress("%s: %d rounds", t.name, t.rounds)
	sides := w.sides()
	var mark int64
	times, err := alternate(ctx, t.rounds, t.gap, func(which, round int) (took time.Duration, err error) {
		if round == warmUp && mark == 0 {
			if mark, err = b.audit.mark(); err != nil {
				return 0, err
			}
		}
		return b.once(ctx, t.pick(sides[which].objects), t.tamper)
	})
	if err != nil {
		return err
	}
	if t.quantiles != nil {
		t.quantiles(times)
		return nil
	}
	counted, err := b.audit.since(mark, agentOperator)
	if err != nil {
		return err
	}
	b.section.latency(t.name, times[0], times[1])
	b.section.requests(t.name, counted, t.rounds)
	return nil
}

// alternate calls a measurement for both sides in rounds, in alternating order and after a gap. It returns the times of
// the rounds after the warm-up.
func alternate(
	ctx context.Context, rounds int, gap time.Duration, once func(which, round int) (time.Duration, error),
) (times [2][]time.Duration, err error) {
	for round := range warmUp + rounds {
		for turn := range 2 {
			if err := process.Sleep(ctx, gap); err != nil {
				return times, err
			}
			which := (turn + round) % 2
			took, err := once(which, round)
			if err != nil {
				return times, fmt.Errorf("round %d: %w", round, err)
			}
			if round >= warmUp {
				times[which] = append(times[which], took)
			}
		}
	}
	return times, nil
}

// once tampers with one object and returns how long, from the answer to the tampering, it took until it was restored.
func (b *bench) once(ctx context.Context, o object, tamper func(context.Context, object) error) (time.Duration, error) {
	marked := b.observer.mark(o)
	if err := tamper(ctx, o); err != nil {
		return 0, fmt.Errorf("tamper with %s: %w", o.name, err)
	}
	answered := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	times, err := b.observer.restored(ctx, marked)
	if err != nil {
		return 0, err
	}
	at, ok := times[o.key()]
	if !ok {
		return 0, errors.Join(fmt.Errorf("%s %s was not restored within %s", o.resource(), o.name, patience), b.floor.error())
	}
	// A restoration may be seen before the answer to the tampering arrives.
	return max(0, at.Sub(answered)), nil
}

// profileWhile takes a processor profile of the next seconds, if profiles are wanted. The channel delivers how it went.
func (b *bench) profileWhile(ctx context.Context, name string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- b.operator.Profile(ctx, "profile?seconds=8", filepath.Join(b.profiles, name+".cpu")) }()
	return done
}
