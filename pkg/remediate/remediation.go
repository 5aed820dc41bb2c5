// Package remediate reverts drift: it reads and judges the objects of a lock, and writes those that drifted.
package remediate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// Remediation is the worker that reverts drift. For each release, it reads the objects of unknown state, has all
// pending objects judged, leaves those of other releases alone, and has the others reverted.
type Remediation struct {
	*Options
	reader    *reader
	comparer  *comparer
	ownership *ownership
	reverter  *reverter
}

// New returns a Remediation.
func New(o *Options) *Remediation {
	return &Remediation{Options: o, reader: &reader{o}, comparer: &comparer{o}, ownership: &ownership{Options: o},
		reverter: &reverter{o}}
}

// RecordChanged enqueues the objects with a claim on a release of changed records.
func (rm *Remediation) RecordChanged(key release.Key) { rm.ownership.recordChanged(key) }

// Wait returns after the end of all reads in the background.
func (rm *Remediation) Wait() { rm.ownership.readings.Wait() }

// Next works on the pending objects of one release. It releases the key to the queue before anything waits. New drift
// is then taken by another call: objects in flight are not returned twice.
func (rm *Remediation) Next(ctx context.Context, key string) {
	l := rm.Table.Get(key)
	if l == nil {
		rm.Queues.Drift.Done(key)
		return
	}
	judging, err := rm.Slots.Judging.Acquire(ctx, l.Release.Namespace)
	if err != nil { // the operator stops
		rm.Queues.Drift.Done(key)
		return
	}
	work, after := l.Take(rm.Clock.Now())
	if after > 0 {
		rm.Queues.Drift.AddAfter(key, after)
	}
	rm.Queues.Drift.Done(key)
	if slices.ContainsFunc(work, func(w *lock.Work) bool { return w.NeedsGet }) {
		judging()
		rm.reader.getUnknown(ctx, l, work)
		if judging, err = rm.Slots.Judging.Acquire(ctx, l.Release.Namespace); err != nil {
			return
		}
	}
	drifted := rm.judgeAll(l, work)
	judging()
	rm.process(ctx, l, drifted)
	rm.processLarge(ctx, l, work)
	if len(work) > 0 && l.Complete() {
		rm.Ledger.Update(key, func(e *ledger.Entry) { e.Fresh = e.Fresh && !e.Record.Same(l.Record) })
		// Others wait for the first status, and no pending work could go into the same write.
		rm.Queues.Status.Add(l.Key)
	}
}

// judgeAll judges objects, completes those in need of no write, and returns the others. It charges the release with the
// time.
func (rm *Remediation) judgeAll(l *lock.Lock, work []*lock.Work) []*result {
	begun := rm.Clock.Now()
	defer func() {
		now := rm.Clock.Now()
		rm.Budget.Spend(l.Release, now, now.Sub(begun))
	}()
	var drifted []*result
	for _, w := range work {
		if w.NeedsGet { // the look failed and was completed, or the object is large
			continue
		}
		v, outcome := rm.comparer.judge(l, w)
		if outcome != nil {
			rm.complete(l, w, *outcome)
			if outcome.Good && w.Before != nil {
				rm.reverter.retryNamespace(w)
			}
			continue
		}
		drifted = append(drifted, v)
	}
	return drifted
}

// process reverts all objects at once. Objects with a claim on another release wait for its declarations. Every object
// is completed.
func (rm *Remediation) process(ctx context.Context, l *lock.Lock, differing []*result) {
	differing = rm.comparer.rescaled(ctx, l, differing)
	var own []*result
	claimed := map[release.Key][]*result{}
	for _, v := range differing {
		if other := v.Found.Claimant; other != (release.Key{}) {
			claimed[other] = append(claimed[other], v)
			continue
		}
		own = append(own, v)
	}
	var others sync.WaitGroup
	for other, results := range claimed {
		others.Go(func() { rm.revert(ctx, l, rm.ownership.notOwned(ctx, l, other, results)) })
	}
	rm.revert(ctx, l, own)
	others.Wait()
}

// revert reverts objects. An Unclear one was never judged under this lock and may differ in form only. Each Unclear
// object is decided beside the others, and reverted at once if it drifted.
func (rm *Remediation) revert(ctx context.Context, l *lock.Lock, differing []*result) {
	var drifted, unclear []*result
	for _, v := range differing {
		if v.Found.State == judge.Unclear {
			unclear = append(unclear, v)
		} else {
			drifted = append(drifted, v)
		}
	}
	var running sync.WaitGroup
	if len(drifted) > 0 {
		running.Go(func() { rm.reverter.act(ctx, l, drifted) })
	}
	deployed := sync.OnceValues(func() (time.Time, error) { return rm.comparer.deployedAt(ctx, l.Record) })
	for _, v := range unclear {
		done := rm.Slots.Write(ctx, l.Release)
		running.Go(func() {
			form := rm.comparer.form(ctx, l, v, deployed)
			done()
			if form != nil {
				rm.complete(l, v.Work, *form)
				return
			}
			rm.reverter.act(ctx, l, []*result{v})
		})
	}
	running.Wait()
}

// processLarge reads and reverts the large objects one after the other. The slots bound their number in memory.
func (rm *Remediation) processLarge(ctx context.Context, l *lock.Lock, work []*lock.Work) {
	for _, w := range work {
		if !w.NeedsGet || !w.Large {
			continue
		}
		slot, err := rm.Slots.Bulky.Acquire(ctx, l.Release.Namespace)
		if err != nil { // the operator stops
			return
		}
		rm.processOne(ctx, l, w)
		slot()
	}
}

func (rm *Remediation) processOne(ctx context.Context, l *lock.Lock, w *lock.Work) {
	done := rm.Slots.Write(ctx, l.Release)
	rm.reader.observeOne(ctx, l, w)
	done()
	judge, err := rm.Slots.Judging.Acquire(ctx, l.Release.Namespace)
	if err != nil {
		return
	}
	drifted := rm.judgeAll(l, []*lock.Work{w})
	judge()
	rm.process(ctx, l, drifted)
}
