// Package shares divides the work of the operator among tenants: slots for concurrent work, and a budget of processor
// time.
package shares

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/release"
)

// Slots bound the concurrent work of the controller. The tenant of a slot is the namespace of a release: the users with
// write access to a namespace decide about its records, objects, webhooks and accounts. Waiting work has a slot of the
// slow kind, no longer counted for other tenants, or none at all.
type Slots struct {
	// Judging bounds comparisons. Nothing waits while it holds one of these.
	Judging *fair.Semaphore
	// writes bounds the requests about single objects; ofRelease is the share of one release in those of its namespace.
	writes, ofRelease *fair.Semaphore
	// Loading bounds the reconciliations of HelmReleases and the reading of other records.
	Loading *fair.Semaphore
	// Large admits one large payload or manifest to memory at a time: a decoded one takes up to a hundred times as much
	// memory as its text, and a dozen bombs at once must not take a dozen times the memory of one.
	Large *fair.Semaphore
	// Bulky bounds the large live objects in memory.
	Bulky *fair.Semaphore
	// Pruning bounds the reading of earlier revisions.
	Pruning *fair.Semaphore
	// Claims bounds the look-ups of other releases named by objects: each object can name another one.
	Claims *fair.Semaphore
}

// slowRequest is the duration after which others get the slot of a request. Webhooks make the few such requests.
const slowRequest = time.Second

// NewSlots returns the slots of a controller.
func NewSlots() *Slots {
	return &Slots{
		Judging:   fair.NewSemaphore(fair.Limits{All: 8, Each: 2}),
		writes:    fair.NewSemaphore(fair.Limits{All: 36, Each: 12, Slow: slowRequest}),
		ofRelease: fair.NewSemaphore(fair.Limits{All: math.MaxInt, Each: 8}),
		Loading:   fair.NewSemaphore(fair.Limits{All: 8, Each: 4, Slow: slowRequest}),
		Large:     fair.NewSemaphore(fair.Limits{All: 1, Each: 1}),
		Bulky:     fair.NewSemaphore(fair.Limits{All: 8, Each: 1}),
		Pruning:   fair.NewSemaphore(fair.Limits{All: 4, Each: 1, Slow: slowRequest}),
		Claims:    fair.NewSemaphore(fair.Limits{All: 8, Each: 1, Slow: slowRequest}),
	}
}

// Write returns a slot for a request about an object of a release. After the end of ctx it returns at once, without an
// error: the request then fails by ctx.
func (s *Slots) Write(ctx context.Context, of release.Key) (done func()) {
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

// Parallel runs f beside others, in a slot for writes of a release.
func (s *Slots) Parallel(ctx context.Context, of release.Key, others *sync.WaitGroup, f func()) {
	done := s.Write(ctx, of)
	others.Go(func() {
		defer done()
		f()
	})
}
