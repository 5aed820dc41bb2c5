package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/watch"
)

// remediation is the worker that reverts drift. It judges the observations of the watches, reads the record and writes
// the object. It remembers each write until the record was read again after it.
type remediation struct {
	*common
	loader   *loader
	reporter *reporter
	memory   *memory
	hasher   drift.Hasher
	claims   claims
	declared declarations
	// readings are the running reads of other releases' declarations.
	readings sync.WaitGroup
}

// next works on the pending objects of one release. It releases the key to the queue before anything waits. New drift
// is then taken by another call: objects in flight are not returned twice.
func (rm *remediation) next(ctx context.Context, key string) {
	l := rm.table.Get(key)
	if l == nil {
		rm.queues.drift.Done(key)
		return
	}
	judging, err := rm.slots.judging.Acquire(ctx, l.Release.Namespace)
	if err != nil { // the operator stops
		rm.queues.drift.Done(key)
		return
	}
	work, after := l.Take(rm.Clock.Now())
	if after > 0 {
		rm.queues.drift.AddAfter(key, after)
	}
	rm.queues.drift.Done(key)
	if slices.ContainsFunc(work, func(w *lock.Work) bool { return w.NeedsGet }) {
		judging()
		rm.getUnknown(ctx, l, work)
		if judging, err = rm.slots.judging.Acquire(ctx, l.Release.Namespace); err != nil {
			return
		}
	}
	drifted := rm.judgeAll(l, work)
	judging()
	rm.process(ctx, l, drifted)
	rm.processLarge(ctx, l, work)
	if len(work) > 0 && l.Complete() {
		rm.entries.update(key, func(e *entry) { e.fresh = e.fresh && !e.record.Same(l.Record) })
		// Others wait for the first status, and no pending work could go into the same write.
		rm.queues.status.Add(l.Key)
	}
}

// judgeAll judges objects, completes those in need of no write, and returns the others. It charges the release with the
// time.
func (rm *remediation) judgeAll(l *lock.Lock, work []*lock.Work) []*result {
	begun := rm.Clock.Now()
	defer func() {
		now := rm.Clock.Now()
		rm.loader.budget.spend(l.Release, now, now.Sub(begun))
	}()
	var drifted []*result
	for _, w := range work {
		if w.NeedsGet { // the look failed and was completed, or the object is large
			continue
		}
		v, outcome := rm.judge(l, w)
		if outcome != nil {
			rm.complete(l, w, *outcome)
			if outcome.Good && w.Before != nil {
				rm.retryNamespace(w)
			}
			continue
		}
		drifted = append(drifted, v)
	}
	return drifted
}

// process reverts all objects at once. Objects with a claim on another release wait for its declarations. Every object
// is completed.
func (rm *remediation) process(ctx context.Context, l *lock.Lock, differing []*result) {
	differing = rm.rescaled(ctx, l, differing)
	var own []*result
	claimed := map[release.Key][]*result{}
	for _, v := range differing {
		if other := v.found.Claimant; other != (release.Key{}) {
			claimed[other] = append(claimed[other], v)
			continue
		}
		own = append(own, v)
	}
	var others sync.WaitGroup
	for other, results := range claimed {
		others.Go(func() { rm.revert(ctx, l, rm.notOwned(ctx, l, other, results)) })
	}
	rm.revert(ctx, l, own)
	others.Wait()
}

// revert reverts objects. An Unclear one was never judged under this lock and may differ in form only. Each Unclear
// object is decided beside the others, and reverted at once if it drifted.
func (rm *remediation) revert(ctx context.Context, l *lock.Lock, differing []*result) {
	var drifted, unclear []*result
	for _, v := range differing {
		if v.found.State == judge.Unclear {
			unclear = append(unclear, v)
		} else {
			drifted = append(drifted, v)
		}
	}
	var running sync.WaitGroup
	if len(drifted) > 0 {
		running.Go(func() { rm.act(ctx, l, drifted) })
	}
	deployed := sync.OnceValues(func() (time.Time, error) { return rm.deployedAt(ctx, l.Record) })
	for _, v := range unclear {
		done := rm.slots.write(ctx, l.Release)
		running.Go(func() {
			form := rm.form(ctx, l, v, deployed)
			done()
			if form != nil {
				rm.complete(l, v.Work, *form)
				return
			}
			rm.act(ctx, l, []*result{v})
		})
	}
	running.Wait()
}

// complete returns an object to its lock and enqueues the lock if there is more to do.
func (rm *remediation) complete(l *lock.Lock, w *lock.Work, o lock.Outcome) {
	o.Now = rm.Clock.Now()
	if l.Done(w.ID, o) {
		rm.queues.drift.Add(l.Key)
	}
	rm.statusChanged(l.Key)
}

// manyGets is the number of objects of one kind in one namespace from which on a list replaces the gets. A list also
// returns the objects of other releases, so it only pays for a release that is large by itself.
const manyGets = 64

// getUnknown gets the objects of unknown state and clears their NeedsGet. After an error, it completes the object with
// the problem. It leaves large objects to processLarge.
func (rm *remediation) getUnknown(ctx context.Context, l *lock.Lock, work []*lock.Work) {
	type group struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	groups := map[group][]*lock.Work{}
	for _, w := range work {
		if w.NeedsGet {
			g := group{w.GVK, w.ID.Namespace}
			groups[g] = append(groups[g], w)
		}
	}
	var wait sync.WaitGroup
	for _, members := range groups {
		if len(members) >= manyGets {
			rm.observeByList(ctx, l, members)
		}
		for _, w := range members {
			if !w.NeedsGet || w.Large {
				continue
			}
			rm.parallel(ctx, l, &wait, func() {
				rm.observeOne(ctx, l, w)
				if w.Large && !w.NeedsGet { // it may be one of many
					w.Observation = lock.Observation{Large: true, NeedsGet: true, Last: w.Last, Seen: w.Seen}
				}
			})
		}
	}
	wait.Wait()
}

// observeByList reads objects of one kind in one namespace by one list. Objects absent from the list, and large ones,
// are read one by one.
func (rm *remediation) observeByList(ctx context.Context, l *lock.Lock, members []*lock.Work) {
	named := make(map[string]*lock.Work, len(members))
	for _, w := range members {
		named[w.ID.Name] = w
	}
	kind := watch.Kind{GVR: members[0].GVR, Namespaced: members[0].Namespaced}
	err := rm.objects.List(ctx, kind, members[0].ID.Namespace, func(obj *watch.Live) {
		w := named[obj.Name]
		if w == nil {
			return
		}
		if obj.Large() {
			w.Large = true
			return
		}
		if live, err := obj.Decode(); err == nil {
			rm.seen(w, live)
		}
	})
	if err != nil {
		rm.Log.Debugf("list objects of release %s: %v; reading each object", l.Release, err)
	}
}

// processLarge reads and reverts the large objects one after the other. The slots bound their number in memory.
func (rm *remediation) processLarge(ctx context.Context, l *lock.Lock, work []*lock.Work) {
	for _, w := range work {
		if !w.NeedsGet || !w.Large {
			continue
		}
		slot, err := rm.slots.bulky.Acquire(ctx, l.Release.Namespace)
		if err != nil { // the operator stops
			return
		}
		rm.processOne(ctx, l, w)
		slot()
	}
}

func (rm *remediation) processOne(ctx context.Context, l *lock.Lock, w *lock.Work) {
	done := rm.slots.write(ctx, l.Release)
	rm.observeOne(ctx, l, w)
	done()
	judge, err := rm.slots.judging.Acquire(ctx, l.Release.Namespace)
	if err != nil {
		return
	}
	drifted := rm.judgeAll(l, []*lock.Work{w})
	judge()
	rm.process(ctx, l, drifted)
}

func (rm *remediation) observeOne(ctx context.Context, l *lock.Lock, w *lock.Work) {
	live, err := rm.enforcer.Get(ctx, revert.Object(w.Object))
	if err != nil {
		again := w.Observation
		rm.complete(l, w, lock.Outcome{Again: &again, Failed: true, Transient: transient(err),
			Problem: problemOf(w.ID, err, false)})
		return
	}
	rm.seen(w, live)
}

// seen records the result of a get. The time of the first get that showed drift stays.
func (rm *remediation) seen(w *lock.Work, live *unstructured.Unstructured) {
	first, last := w.Seen, w.Last
	if live == nil {
		w.Observation = lock.Observation{Last: last, Seen: first}
		return
	}
	w.Observation = rm.observation(live)
	w.Last, w.Seen = last, first
}
