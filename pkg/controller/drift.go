package controller

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/watch"
)

// nextDrift works on what needs a look in one release. The key is given back to the queue before the work begins: what
// drifts meanwhile is taken by another worker, because objects in flight are not handed out twice.
func (c *Controller) nextDrift(ctx context.Context) bool {
	key, shutdown := c.driftQueue.Get()
	if shutdown {
		return false
	}
	l := c.table.Get(key)
	if l == nil {
		c.driftQueue.Done(key)
		return true
	}
	work, after := l.Take(c.Clock.Now())
	if after > 0 {
		c.driftQueue.AddAfter(key, after)
	}
	c.driftQueue.Done(key)
	if len(work) > 0 {
		c.process(ctx, l, work)
	}
	return true
}

// process judges the objects taken out of a lock and has those put back that drifted. Every object is settled.
func (c *Controller) process(ctx context.Context, l *lock.Lock, work []*lock.Work) {
	c.look(ctx, l, work)
	var drifted []*verdict
	for _, w := range work {
		if w.Look { // the look failed and was settled
			continue
		}
		v := c.judge(ctx, l, w)
		if v.outcome != nil {
			c.settle(l, w, *v.outcome)
			continue
		}
		drifted = append(drifted, v)
	}
	if len(drifted) > 0 {
		c.act(ctx, l, drifted)
	}
	if l.Complete() {
		c.statusQueue.Add(l.Key) // the first status is waited for, and nothing is left that could go into the same write
	}
}

// settle hands an object back to its lock and has a worker come if there is more to do.
func (c *Controller) settle(l *lock.Lock, w *lock.Work, o lock.Outcome) {
	o.Now = c.Clock.Now()
	if l.Settle(w.ID, o) {
		c.driftQueue.Add(l.Key)
	}
	c.statusChanged(l.Key)
}

// lookTogether is from how many objects of one kind in one namespace on a list takes the place of a get for each. A list
// returns what other releases have there, too, so it only pays for a release that is large by itself.
const lookTogether = 64

// look fetches the objects of which it is not known how they are. It clears Look on success; where it fails, the
// object is settled with its problem.
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
		known := map[string]*unstructured.Unstructured{}
		if len(members) >= lookTogether {
			all, err := c.enforcer.LookAll(ctx, members[0].Object, watch.HelmSelector)
			if err == nil {
				known = all
			} else {
				c.Log.Debugf("look at release %s: %v; looking at each object", l.Release, err)
			}
		}
		for _, w := range members {
			if live := known[w.ID.Name]; live != nil {
				c.seen(w, live)
				continue
			}
			wait.Add(1)
			c.writes <- struct{}{}
			go func() {
				defer wait.Done()
				defer func() { <-c.writes }()
				c.lookAt(ctx, l, w)
			}()
		}
	}
	wait.Wait()
}

func (c *Controller) lookAt(ctx context.Context, l *lock.Lock, w *lock.Work) {
	live, err := c.enforcer.Look(ctx, w.Object)
	if err != nil {
		again := w.Observation
		c.settle(l, w, lock.Outcome{Again: &again, Failed: true, Transient: transient(err), Problem: problemOf(w.ID, err, false)})
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
