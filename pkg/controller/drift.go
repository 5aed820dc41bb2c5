package controller

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

// nextDrift works on what needs a look in one release. The key is given back to the queue before anything waits: what
// drifts meanwhile is taken by another call, because objects in flight are not handed out twice.
func (c *Controller) nextDrift(ctx context.Context, key string) {
	l := c.table.Get(key)
	if l == nil {
		c.driftQueue.Done(key)
		return
	}
	judging, err := c.slots.judging.acquire(ctx, l.Release.Namespace)
	if err != nil { // the operator stops
		c.driftQueue.Done(key)
		return
	}
	work, after := l.Take(c.Clock.Now())
	if after > 0 {
		c.driftQueue.AddAfter(key, after)
	}
	c.driftQueue.Done(key)
	if slices.ContainsFunc(work, func(w *lock.Work) bool { return w.Look }) {
		judging()
		c.look(ctx, l, work)
		if judging, err = c.slots.judging.acquire(ctx, l.Release.Namespace); err != nil {
			return
		}
	}
	drifted := c.judgeAll(l, work)
	judging()
	c.process(ctx, l, drifted)
	c.processLarge(ctx, l, work)
	if len(work) > 0 && l.Complete() {
		// The first status is waited for, and nothing is left that could go into the same write.
		c.statusQueue.Add(l.Key)
	}
}

// judgeAll judges objects, settles those with which the matter ends, and returns the others.
func (c *Controller) judgeAll(l *lock.Lock, work []*lock.Work) []*verdict {
	var drifted []*verdict
	for _, w := range work {
		if w.Look { // the look failed and was settled, or the object is large
			continue
		}
		v := c.judge(l, w)
		if v.outcome != nil {
			c.settle(l, w, *v.outcome)
			if v.outcome.Good && w.Before != nil {
				c.thereAgain(w)
			}
			continue
		}
		drifted = append(drifted, v)
	}
	return drifted
}

// process has objects reverted, all of them at once. Those that say they belong to another release wait for what is
// known of that. Every object is settled.
func (c *Controller) process(ctx context.Context, l *lock.Lock, differing []*verdict) {
	var own []*verdict
	claimed := map[release.Key][]*verdict{}
	for _, v := range differing {
		if other := claimant(l, v); other != (release.Key{}) {
			claimed[other] = append(claimed[other], v)
			continue
		}
		own = append(own, v)
	}
	var others sync.WaitGroup
	for other, verdicts := range claimed {
		others.Go(func() { c.revert(ctx, l, c.notOwned(ctx, l, other, verdicts)) })
	}
	c.revert(ctx, l, own)
	others.Wait()
}

// revert has objects reverted: those that were never judged under this lock, and may differ in form only, as soon as
// that is known of each, beside the others.
func (c *Controller) revert(ctx context.Context, l *lock.Lock, differing []*verdict) {
	var drifted, unclear []*verdict
	for _, v := range differing {
		if v.Live != nil && v.First && len(v.changes) > 0 {
			unclear = append(unclear, v)
		} else {
			drifted = append(drifted, v)
		}
	}
	var running sync.WaitGroup
	if len(drifted) > 0 {
		running.Go(func() { c.act(ctx, l, drifted) })
	}
	for _, v := range unclear {
		done := c.slots.write(ctx, l.Release)
		running.Go(func() {
			form := c.onlyForm(ctx, l, v)
			done()
			if form != nil {
				c.settle(l, v.Work, *form)
				return
			}
			c.act(ctx, l, []*verdict{v})
		})
	}
	running.Wait()
}

// settle hands an object back to its lock and has a worker come if there is more to do.
func (c *Controller) settle(l *lock.Lock, w *lock.Work, o lock.Outcome) {
	o.Now = c.Clock.Now()
	if l.Settle(w.ID, o) {
		c.driftQueue.Add(l.Key)
	}
	c.statusChanged(l.Key)
}

// manyLooks is from how many objects of one kind in one namespace on a list takes the place of a get for each. A list
// returns what other releases have there, too, so it only pays for a release that is large by itself.
const manyLooks = 64

// look fetches the objects of which it is not known how they are. It clears Look on success; where it fails, the
// object is settled with its problem. Large ones are left to processLarge.
func (c *Controller) look(ctx context.Context, l *lock.Lock, work []*lock.Work) {
	type group struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	groups := map[group][]*lock.Work{}
	for _, w := range work {
		if w.Look {
			g := group{w.GVK, w.ID.Namespace}
			groups[g] = append(groups[g], w)
		}
	}
	var wait sync.WaitGroup
	for _, members := range groups {
		if len(members) >= manyLooks {
			c.lookTogether(ctx, l, members)
		}
		for _, w := range members {
			if !w.Look || w.Large {
				continue
			}
			c.parallel(ctx, l, &wait, func(func()) {
				c.lookAt(ctx, l, w)
				if w.Large && !w.Look { // it may be one of many
					w.Observation = lock.Observation{Large: true, Look: true, Last: w.Last, Seen: w.Seen}
				}
			})
		}
	}
	wait.Wait()
}

// lookTogether looks at objects of one kind in one namespace by one list. What it does not show, and what is large,
// is to be looked at one by one.
func (c *Controller) lookTogether(ctx context.Context, l *lock.Lock, members []*lock.Work) {
	named := make(map[string]*lock.Work, len(members))
	for _, w := range members {
		named[w.ID.Name] = w
	}
	kind := watch.Kind{GVR: members[0].GVR, Namespaced: members[0].Namespaced}
	err := c.objects.List(ctx, kind, members[0].ID.Namespace, func(obj *watch.Live) {
		w := named[obj.Name]
		if w == nil {
			return
		}
		if obj.Large() {
			w.Large = true
			return
		}
		if live, err := obj.Decode(); err == nil {
			c.seen(w, live)
		}
	})
	if err != nil {
		c.Log.Debugf("look at release %s: %v; looking at each object", l.Release, err)
	}
}

// processLarge works on the large ones of objects that are still to be looked at, one after the other: no more of
// them are in memory than there are slots.
func (c *Controller) processLarge(ctx context.Context, l *lock.Lock, work []*lock.Work) {
	for _, w := range work {
		if !w.Look || !w.Large {
			continue
		}
		slot, err := c.slots.bulky.acquire(ctx, l.Release.Namespace)
		if err != nil { // the operator stops
			return
		}
		c.processOne(ctx, l, w)
		slot()
	}
}

func (c *Controller) processOne(ctx context.Context, l *lock.Lock, w *lock.Work) {
	done := c.slots.write(ctx, l.Release)
	c.lookAt(ctx, l, w)
	done()
	judge, err := c.slots.judging.acquire(ctx, l.Release.Namespace)
	if err != nil {
		return
	}
	drifted := c.judgeAll(l, []*lock.Work{w})
	judge()
	c.process(ctx, l, drifted)
}

func (c *Controller) lookAt(ctx context.Context, l *lock.Lock, w *lock.Work) {
	live, err := c.enforcer.Look(ctx, w.Object)
	if err != nil {
		again := w.Observation
		c.settle(l, w, lock.Outcome{Again: &again, Failed: true, Transient: transient(err),
			Problem: problemOf(w.ID, err, false)})
		return
	}
	c.seen(w, live)
}

// seen records what a look found. The time of the first look that showed drift stays.
func (c *Controller) seen(w *lock.Work, live *unstructured.Unstructured) {
	first, last := w.Seen, w.Last
	if live == nil {
		w.Observation = lock.Observation{Last: last, Seen: first}
		return
	}
	w.Observation = c.observation(live)
	w.Last, w.Seen = last, first
}
