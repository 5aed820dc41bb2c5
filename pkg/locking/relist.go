package locking

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/watch"
)

// An object must be read if a running watch delivered it before its release was locked. One release alone does that
// object by object. When many releases are locked in a short time (a user applies a folder of HelmReleases), one list
// of a kind serves all of them, as it does at the start of the process.
const (
	// relistFrom is the number of releases that make the next ones share lists: waiting to be locked, or locked within
	// relistWindow.
	relistFrom   = 5
	relistWindow = time.Second
	// A list waits until no release waits to be locked and none has been locked for relistQuiet, but not longer than
	// relistTimeout: a list reads all of Helm's objects of a kind, so lists must be few.
	relistQuiet   = 50 * time.Millisecond
	relistTimeout = 3 * time.Second
	// relistsAtOnce is the number of kinds listed concurrently: one is judged while the API server prepares another.
	relistsAtOnce = 2
)

// relist makes the shared lists for releases. It is safe for concurrent use.
type relist struct {
	*Options
	wake chan struct{} // has an entry when something waits

	mu      sync.Mutex
	times   [relistFrom]time.Time // of the last locks, oldest at at
	at      int
	joined  int // locks, ever
	waiting map[schema.GroupVersionKind]*sharedList
}

// sharedList is one list of a kind, and the waiting locks.
type sharedList struct {
	kind  watch.Kind
	locks map[*lock.Lock]struct{}
}

func newRelist(o *Options) *relist {
	return &relist{Options: o, wake: make(chan struct{}, 1), waiting: map[schema.GroupVersionKind]*sharedList{}}
}

// join makes a lock made at now wait for lists of the given kinds, if many locks are being made: behind is the number
// of those still to be made. It reports whether the lock waits.
func (rl *relist) join(now time.Time, behind int, l *lock.Lock, kinds map[schema.GroupVersionKind]watch.Kind) bool {
	rl.mu.Lock()
	defer rl.mu.Unlock()
	oldest := rl.times[rl.at]
	rl.times[rl.at], rl.at = now, (rl.at+1)%relistFrom
	many := behind >= relistFrom || (!oldest.IsZero() && now.Sub(oldest) <= relistWindow)
	if len(kinds) == 0 || !many {
		return false
	}
	rl.joined++
	for gvk, kind := range kinds {
		if rl.waiting[gvk] == nil {
			rl.waiting[gvk] = &sharedList{kind: kind, locks: map[*lock.Lock]struct{}{}}
		}
		rl.waiting[gvk].locks[l] = struct{}{}
		l.Unmanaged.AwaitList(gvk)
	}
	select {
	case rl.wake <- struct{}{}:
	default:
	}
	return true
}

func (rl *relist) count() int {
	rl.mu.Lock()
	defer rl.mu.Unlock()
	return rl.joined
}

// gather waits for the releases that the next lists can serve, too; behind returns the number of those still to be
// locked. It returns false when ctx has ended.
func (rl *relist) gather(ctx context.Context, behind func() int) bool {
	begin := rl.Clock.Now()
	for {
		before := rl.count()
		quiet := rl.Clock.NewTimer(relistQuiet)
		select {
		case <-quiet.C():
		case <-ctx.Done():
			quiet.Stop()
			return false
		}
		if behind() == 0 && rl.count() == before || rl.Clock.Since(begin) >= relistTimeout {
			return true
		}
	}
}

// take removes and returns the pending lists.
func (rl *relist) take() map[schema.GroupVersionKind]*sharedList {
	rl.mu.Lock()
	defer rl.mu.Unlock()
	taken := rl.waiting
	rl.waiting = map[schema.GroupVersionKind]*sharedList{}
	return taken
}

// run makes the lists until ctx ends. A release that joins during a list waits for the next: the running list may have
// passed its objects.
func (rl *relist) run(ctx context.Context, behind func() int) {
	for {
		select {
		case <-rl.wake:
		case <-ctx.Done():
			return
		}
		if !rl.gather(ctx, behind) {
			return
		}
		var lists errgroup.Group
		lists.SetLimit(relistsAtOnce)
		for gvk, s := range rl.take() {
			lists.Go(func() error { rl.list(ctx, gvk, s); return nil })
		}
		_ = lists.Wait() // each list tells of its own error
	}
}

// list lists a kind and enqueues the objects of the waiting locks. Objects absent from the list are read one by one,
// and so are all after an error.
func (rl *relist) list(ctx context.Context, gvk schema.GroupVersionKind, s *sharedList) {
	present := map[manifest.ID]struct{}{}
	err := rl.Objects.List(ctx, s.kind, func(obj *watch.Live) {
		id := watch.IDOf(gvk, obj)
		owner := rl.Table.Owner(gvk, id)
		if owner == nil {
			rl.Observer.Unmanaged(id, obj, true)
		}
		if _, waits := s.locks[owner]; !waits || watch.Version(obj) == 0 {
			return // without a version it is not known whether a deletion has come since
		}
		present[id] = struct{}{}
		rl.Observer.Observed(gvk, obj)
	})
	if err != nil && ctx.Err() == nil {
		rl.Log.Debugf("list of %s for locks made just now: %v; looking at each object", gvk.Kind, err)
	}
	for l := range s.locks {
		if err == nil {
			l.Unmanaged.ListEnded(gvk)
		} else {
			l.Unmanaged.MissedList(gvk)
		}
		rl.Queues.Pruning.Add(l.Key)
		wake := l.Recheck(rl.Clock.Now(), func(o *lock.Object) bool {
			_, delivered := present[o.ID]
			return o.GVK == gvk && !delivered
		})
		if wake {
			rl.Queues.Drift.Add(l.Key)
		}
	}
}
