// Package queues has the queues by which the workers of the controller ask one another for work.
package queues

import (
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/release"
)

// StatusDelay coalesces status writes: a burst of reverts ends in one.
const StatusDelay = 250 * time.Millisecond

// Queues hold the pending work of each worker: HelmRelease keys, and for Confirm the releases with writes to confirm.
type Queues struct {
	Releases, Status, Pruning workqueue.TypedRateLimitingInterface[string]
	Drift                     workqueue.TypedDelayingInterface[string]
	Confirm                   workqueue.TypedRateLimitingInterface[release.Key]
}

// New returns empty queues. The metrics count their keys.
func New(c clock.WithTicker, metrics workqueue.MetricsProvider) *Queues {
	return &Queues{
		Releases: retryQueue[string](c, metrics, "release", 100*time.Millisecond, time.Minute),
		Drift: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
			Name: "drift", Clock: c, MetricsProvider: metrics,
		}),
		Status:  retryQueue[string](c, metrics, "status", time.Second, time.Minute),
		Pruning: retryQueue[string](c, metrics, "leftover", 5*time.Second, 5*time.Minute),
		Confirm: retryQueue[release.Key](c, metrics, "confirm", 100*time.Millisecond, time.Minute),
	}
}

// StatusChanged schedules a write of the status of a HelmRelease. Changes until then go into the same write.
func (q *Queues) StatusChanged(key string) { q.Status.AddAfter(key, StatusDelay) }

// ShutDown ends the work of all workers.
func (q *Queues) ShutDown() {
	q.Releases.ShutDown()
	q.Drift.ShutDown()
	q.Status.ShutDown()
	q.Pruning.ShutDown()
	q.Confirm.ShutDown()
}

// retryQueue returns a queue with a growing delay after each failure, from shortest to longest. The metrics use its
// name.
func retryQueue[T comparable](
	c clock.WithTicker, metrics workqueue.MetricsProvider, name string, shortest, longest time.Duration,
) workqueue.TypedRateLimitingInterface[T] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[T](shortest, longest)
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{
		Name: name, Clock: c, MetricsProvider: metrics,
	})
}

// Serve works on every key of a queue at once, until the queue is shut down: the waits of one key do not delay another.
// Slots bound the concurrent work. next releases the key to the queue.
func Serve[T comparable](group *errgroup.Group, queue workqueue.TypedInterface[T], next func(key T)) {
	group.Go(func() error {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return nil
			}
			group.Go(func() error {
				next(key)
				return nil
			})
		}
	})
}
