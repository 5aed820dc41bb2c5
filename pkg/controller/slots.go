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

// slots bound the concurrent work of the controller. The tenant of a slot is the namespace of a release: the users with
// write access to a namespace decide about its records, objects, webhooks and accounts. Waiting work has a slot of the
// slow kind, no longer counted for other tenants, or none at all.
type slots struct {
	// judging bounds comparisons. Nothing waits while it holds one of these.
	judging *fair.Semaphore
	// writes bounds the requests about single objects; ofRelease is the share of one release in those of its namespace.
	writes, ofRelease *fair.Semaphore
	// loading bounds the reconciliations of HelmReleases and the reading of other records.
	loading *fair.Semaphore
	// large admits one large payload or manifest to memory at a time: a decoded one takes up to a hundred times as much
	// memory as its text, and a dozen bombs at once must not take a dozen times the memory of one.
	large *fair.Semaphore
	// bulky bounds the large live objects in memory.
	bulky *fair.Semaphore
	// pruning bounds the reading of earlier revisions.
	pruning *fair.Semaphore
	// claims bounds the look-ups of other releases named by objects: each object can name another one.
	claims *fair.Semaphore
}

// slowRequest is the duration after which others get the slot of a request. Webhooks make the few such requests.
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

// write returns a slot for a request about an object of a release. After the end of ctx it returns at once, without an
// error: the request then fails by ctx.
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
