package controller

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// slots bound what the controller does at once. The tenant of a slot is the namespace of a release, because who may
// write to a namespace decides what its records, objects, webhooks and accounts do. What waits has a slot that stops to
// count for other tenants (slow), or none at all.
type slots struct {
	// judging bounds comparisons. Nothing waits while it holds one of these.
	judging *fair.Semaphore
	// writes bounds the requests about single objects; ofRelease is the share of one release in those of its namespace.
	writes, ofRelease *fair.Semaphore
	// loading bounds the reconciliations of HelmReleases and the reading of other records.
	loading *fair.Semaphore
	// large lets one payload or manifest at a time be in memory that is large: a decoded one takes up to a hundred
	// times as much memory as its text, and a dozen bombs at once must not take a dozen times the memory of one.
	large *fair.Semaphore
	// bulky bounds the live objects in memory that are large.
	bulky *fair.Semaphore
	// pruning bounds the reading of earlier revisions.
	pruning *fair.Semaphore
	// claims bounds the questions about other releases that objects say they belong to: that may be another one for
	// each object.
	claims *fair.Semaphore
}

// slowRequest is for how long a request may take until others get its slot. Few take as long, and those by webhooks.
const slowRequest = time.Second

func newSlots() slots {
	return slots{
		judging:   fair.NewSemaphore(fair.Limits{All: 8, Each: 2}),
		writes:    fair.NewSemaphore(fair.Limits{All: 36, Each: 12, Slow: slowRequest}),
		ofRelease: fair.NewSemaphore(fair.Limits{All: math.MaxInt, Each: 8}),
		loading:   fair.NewSemaphore(fair.Limits{All: 8, Each: 4, Slow: slowRequest}),
		large:     fair.NewSemaphore(fair.Limits{All: 1, Each: 1}),
		bulky:     fair.NewSemaphore(fair.Limits{All: 8, Each: 1}),
		pruning:   fair.NewSemaphore(fair.Limits{All: 4, Each: 1, Slow: slowRequest}),
		claims:    fair.NewSemaphore(fair.Limits{All: 8, Each: 1, Slow: slowRequest}),
	}
}

// write returns a slot for a request about an object of a release. It comes at once, without an error, when ctx ends:
// such a request is not made any more.
func (s *slots) write(ctx context.Context, of release.Key) (done func()) {
	share, err := s.ofRelease.Acquire(ctx, of.String())
	if err != nil {
		return share
	}
	slot, err := s.writes.Acquire(ctx, of.Namespace)
	if err != nil {
		share()
		return slot
	}
	return func() {
		slot()
		share()
	}
}

// parallel runs f beside others, in a slot for writes of the lock's release.
func (c *common) parallel(ctx context.Context, l *lock.Lock, others *sync.WaitGroup, f func()) {
	done := c.slots.write(ctx, l.Release)
	others.Go(func() {
		defer done()
		f()
	})
}
