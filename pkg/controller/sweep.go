package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Objects that a running watch has delivered before their release was locked have to be looked at. One release
// alone does that object by object. When many releases are locked in a short time (somebody applies a folder of
// HelmReleases), one list of a kind serves all of them, as it does at the start of the process.
const (
	// sweepFrom is how many releases have to wait to be locked, or to have been locked within sweepWindow, for the
	// next ones to share lists.
	sweepFrom   = 5
	sweepWindow = time.Second
	// sweepGather is how long a list waits for further releases: until none has come for so long and none waits to
	// be locked. After sweepPatience, or sweepRest times as long as lists take, it waits no longer for some that
	// keep coming, but for those that are known and would be locked within as long again; after sweepRest times as
	// long for nobody. A list reads all that Helm manages of a kind, so lists must be few.
	sweepGather   = 50 * time.Millisecond
	sweepPatience = 3 * time.Second
	sweepRest     = 3
	// sweepGuess is the most that the first lists of the watches count for as long as there was no list here: one
	// of them may be held up without an error.
	sweepGuess = 10 * time.Second
	// sweepsAtOnce is how many kinds are listed side by side: one is judged while the API server prepares another.
	sweepsAtOnce = 2
)

// sweeps are the lists that releases wait for. It is safe for concurrent use.
type sweeps struct {
	wake chan struct{} // has an entry when something waits

	mu      sync.Mutex
	times   [sweepFrom]time.Time // of the last locks, oldest at at
	at      int
	joined  int // locks, ever
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

// join has a lock made at now wait for lists of the given kinds, if many locks are being made: behind says how many
// are still to be made. It reports whether it does.
func (s *sweeps) join(now time.Time, behind int, l *lock.Lock, kinds map[schema.GroupVersionKind]watch.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.times[s.at]
	s.times[s.at], s.at = now, (s.at+1)%sweepFrom
	many := behind >= sweepFrom || (!oldest.IsZero() && now.Sub(oldest) <= sweepWindow)
	if len(kinds) == 0 || !many {
		return false
	}
	s.joined++
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

func (s *sweeps) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.joined
}

// gather waits for those whom the next lists are to serve, too; behind says how many releases are still to be
// locked, and took how long lists take as far as that is known. It returns false when ctx has ended.
func (s *sweeps) gather(ctx context.Context, clock clock.Clock, behind func() int, took func() time.Duration) bool {
	begin, first := clock.Now(), s.count()
	for {
		before := s.count()
		quiet := clock.NewTimer(sweepGather)
		select {
		case <-quiet.C():
		case <-ctx.Done():
			quiet.Stop()
			return false
		}
		waited, left, now := clock.Since(begin), behind(), s.count()
		patience := max(sweepPatience, sweepRest*took())
		switch {
		case left == 0 && (now == before || waited >= patience), waited >= sweepRest*patience:
			return true
		case waited >= patience:
			// At the pace so far; who began this round is one of those that came.
			if ahead := waited / time.Duration(now-first+1) * time.Duration(left); ahead >= patience {
				return true
			}
		}
	}
}

// listTime returns what lists take, as far as that is known: what the last ones took, zero if there were none, or
// what the first lists of the watches did.
func listTime(last time.Duration, first func() time.Duration) time.Duration {
	if last > 0 {
		return last
	}
	return min(first(), sweepGuess)
}

// take returns what waits; nothing does then.
func (s *sweeps) take() map[schema.GroupVersionKind]*sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.waiting
	s.waiting = map[schema.GroupVersionKind]*sweep{}
	return taken
}

// runSweeps makes the lists that releases wait for until ctx ends. Who comes while one is made waits for the next:
// it may have passed their objects.
func (c *Controller) runSweeps(ctx context.Context) {
	var took time.Duration // the last lists
	for {
		select {
		case <-c.sweeps.wake:
		case <-ctx.Done():
			return
		}
		if !c.sweeps.gather(ctx, c.Clock, c.toReconcile,
			func() time.Duration { return listTime(took, c.objects.FirstLists) }) {
			return
		}
		waiting := c.sweeps.take()
		if len(waiting) == 0 { // who woke this round was taken with the one before
			continue
		}
		begin := c.Clock.Now()
		var lists sync.WaitGroup
		turns := make(chan struct{}, sweepsAtOnce)
		for gvk, s := range waiting {
			turns <- struct{}{}
			lists.Go(func() {
				defer func() { <-turns }()
				c.sweep(ctx, gvk, s)
			})
		}
		lists.Wait()
		took = c.Clock.Since(begin)
	}
}

// sweep lists a kind and has the objects judged of the locks that wait for it. Those that the list does not show
// are looked at one by one, and so are all after an error.
func (c *Controller) sweep(ctx context.Context, gvk schema.GroupVersionKind, s *sweep) {
	present := map[manifest.ID]struct{}{}
	err := c.objects.List(ctx, s.kind, "", func(obj *watch.Live) {
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
