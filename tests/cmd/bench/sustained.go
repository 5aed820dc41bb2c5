package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// steady is the effect of a steady stream of drifts on one side.
type steady struct {
	rate  float64 // drifts per second that were really made
	share float64 // of them that were put right
	lived []time.Duration
	// queue samples the number of pending drifts at equal intervals during the stream.
	queue []int
}

// growth returns the increase of pending drifts from the second quarter of the time to the last. It is positive for a
// side that does not keep up; for another one, the number is stable after the first quarter.
func (s steady) growth() float64 {
	n := len(s.queue)
	return max(0, mean(s.queue[n*3/4:])-mean(s.queue[n/4:n/2]))
}

// sustained measures a steady stream of drifts on one release, of the floor and of the operator.
func (b *bench) sustained(ctx context.Context, w *world) error {
	var runs [2]steady
	for which, s := range w.sides() {
		if err := process.Sleep(ctx, pause); err != nil {
			return err
		}
		progress("%d drifts per second for %s, put right by %s", driftRate, b.DriftTime, s.agent)
		var err error
		if runs[which], err = b.stream(ctx, s.objects); err != nil {
			return err
		}
	}
	b.section.sustained(driftRate, runs)
	return nil
}

// stream tampers with restored objects at a rate, whatever the number of pending ones.
func (b *bench) stream(ctx context.Context, objects []object) (steady, error) {
	watching := newTally(objects)
	b.observer.tell(watching.restored)
	defer b.observer.tell(nil)
	var s steady
	group, tampering := errgroup.WithContext(ctx)
	group.SetLimit(64) // requests at once, should the API server be slow
	batch := max(1, driftRate/50)
	ticker := time.NewTicker(time.Second * time.Duration(batch) / time.Duration(driftRate))
	defer ticker.Stop()
	begun := time.Now()
	for time.Since(begun) < b.DriftTime && tampering.Err() == nil {
		for range batch {
			o, ok := watching.next()
			if !ok {
				break // all are waiting: as bad as it can get
			}
			group.Go(func() error {
				err := b.drift(tampering, o)
				watching.tampered(o)
				return err
			})
		}
		s.queue = append(s.queue, watching.waiting())
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	err := group.Wait()
	took := time.Since(begun)
	if err != nil {
		return s, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// A lost drift is no error here: the share shows it.
	lost := process.Poll(waiting, 10*time.Millisecond, func() (bool, error) { return watching.waiting() == 0, nil })
	if ctx.Err() != nil {
		return s, lost
	}
	made, lived := watching.result()
	s.lived, s.rate, s.share = lived, float64(made)/took.Seconds(), float64(len(lived))/float64(made)
	return s, b.floor.error()
}

// tally tracks pending drifts among some objects. It is safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	objects []object
	at      int
	drifts  map[object]*drifting
	made    int
	lived   []time.Duration
}

// drifting is one drift. It is over when both are known: a restoration may be seen before the answer to the tampering.
type drifting struct{ answered, restored time.Time }

func newTally(objects []object) *tally {
	return &tally{objects: objects, drifts: map[object]*drifting{}}
}

// next returns the next object without a pending drift, and counts it as drifted; false when there is none.
func (t *tally) next() (object, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range t.objects {
		o := t.objects[t.at]
		t.at = (t.at + 1) % len(t.objects)
		if t.drifts[o.key()] == nil {
			t.drifts[o.key()] = &drifting{}
			t.made++
			return o, true
		}
	}
	return object{}, false
}

func (t *tally) tampered(o object) { t.set(o, func(d *drifting) { d.answered = time.Now() }) }

func (t *tally) restored(o object, at time.Time) { t.set(o, func(d *drifting) { d.restored = at }) }

func (t *tally) set(o object, change func(*drifting)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.drifts[o.key()]
	if d == nil {
		return
	}
	change(d)
	if !d.answered.IsZero() && !d.restored.IsZero() {
		t.lived = append(t.lived, max(0, d.restored.Sub(d.answered)))
		delete(t.drifts, o.key())
	}
}

func (t *tally) waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.drifts)
}

// result returns the number of drifts, and the lifetimes of the reverted ones.
func (t *tally) result() (made int, lived []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.made, t.lived
}
