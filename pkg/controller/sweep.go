package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Objects that a running watch has delivered before their release was locked have to be looked at. One release alone does
// that object by object. When many releases are locked in a short time (somebody applies a folder of HelmReleases), one
// list of a kind serves all of them, as it does at the start of the process.
const (
	// sweepFrom is how many releases have to wait to be locked, or to have been locked within sweepWindow, for the next ones to
	// share lists.
	sweepFrom   = 5
	sweepWindow = time.Second
	// sweepGather is how long a list waits for further releases.
	sweepGather = 100 * time.Millisecond
)

// sweeps are the lists that releases wait for. It is safe for concurrent use.
type sweeps struct {
	wake chan struct{} // has an entry when something waits

	mu      sync.Mutex
	times   [sweepFrom]time.Time // of the last locks, oldest at at
	at      int
	waiting map[schema.GroupVersionKind]*sweep
}

// sweep is one list of a kind, and the locks that wait for it.
type sweep struct {
	kind  watch.Kind
	locks map[*lock.Lock]struct{}
}

func newSweeps() *sweeps {
	return &sweeps{wake: make(chan struct{}, 1), waiting: map[schema.GroupVersionKind]*sweep{}}
}

// join has a lock made at now wait for lists of the given kinds, if many locks are being made: behind says how many are still
// to be made. It says whether it does.
func (s *sweeps) join(now time.Time, behind int, l *lock.Lock, kinds map[schema.GroupVersionKind]watch.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.times[s.at]
	s.times[s.at], s.at = now, (s.at+1)%sweepFrom
	many := behind >= sweepFrom || (!oldest.IsZero() && now.Sub(oldest) <= sweepWindow)
	if len(kinds) == 0 || !many {
		return false
	}
	for gvk, kind := range kinds {
		if s.waiting[gvk] == nil {
			s.waiting[gvk] = &sweep{kind: kind, locks: map[*lock.Lock]struct{}{}}
		}
		s.waiting[gvk].locks[l] = struct{}{}
		l.AwaitList(gvk)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns what waits; nothing does then.
func (s *sweeps) take() map[schema.GroupVersionKind]*sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.waiting
	s.waiting = map[schema.GroupVersionKind]*sweep{}
	return taken
}

// runSweeps makes the lists that releases wait for until ctx ends. Who comes while one is made waits for the next: it may
// have passed their objects.
func (c *Controller) runSweeps(ctx context.Context) {
	for {
		select {
		case <-c.sweeps.wake:
		case <-ctx.Done():
			return
		}
		gather := c.Clock.NewTimer(sweepGather)
		select {
		case <-gather.C():
		case <-ctx.Done():
			gather.Stop()
			return
		}
		for gvk, s := range c.sweeps.take() {
			c.sweep(ctx, gvk, s)
		}
	}
}

// sweep lists a kind and has the objects judged of the locks that wait for it. Those that the list does not show are looked
// at one by one, and so are all after an error.
func (c *Controller) sweep(ctx context.Context, gvk schema.GroupVersionKind, s *sweep) {
	present := map[manifest.ID]struct{}{}
	err := c.objects.List(ctx, s.kind, func(obj *watch.Live) {
		id := watch.IDOf(gvk, obj)
		owner := c.table.Owner(gvk, id)
		if owner == nil {
			c.stray(id, obj, true)
		}
		if _, waits := s.locks[owner]; !waits || version(obj) == 0 {
			return // without a version, nobody can tell whether a deletion has come since
		}
		present[id] = struct{}{}
		c.Observed(gvk, obj)
	})
	if err != nil && ctx.Err() == nil {
		c.Log.Debugf("list of %s for locks made just now: %v; looking at each object", gvk.Kind, err)
	}
	for l := range s.locks {
		if err == nil {
			l.ListEnded(gvk)
		} else {
			l.MissedList(gvk)
		}
		c.leftoverQueue.Add(l.Key)
		wake := l.LookAt(c.Clock.Now(), func(o *lock.Object) bool {
			_, delivered := present[o.ID]
			return o.GVK == gvk && !delivered
		})
		if wake {
			c.driftQueue.Add(l.Key)
		}
	}
}
