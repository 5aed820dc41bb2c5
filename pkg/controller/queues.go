package controller

import (
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/util/workqueue"

	"github.com/rancher/helm-locker/pkg/release"
)

const (
	statusWorkers = 2

	// statusDelay coalesces status writes: a burst of reverts ends in one.
	statusDelay = 250 * time.Millisecond
	// lockingPatience is the time for a new lock to read its objects before the status shows the reading: most take
	// less, also when they wait for others (relistTimeout), and need one write of the status instead of two.
	lockingPatience = 20 * time.Second

	// eventsPerSecond and eventBurst bound the events about drift, for each namespace of releases.
	eventsPerSecond = 2
	eventBurst      = 50
)

// queues hold the pending work of each worker: HelmRelease keys, and for confirm the releases with writes to confirm.
type queues struct {
	releases, status, pruning workqueue.TypedRateLimitingInterface[string]
	drift                     workqueue.TypedDelayingInterface[string]
	confirm                   workqueue.TypedRateLimitingInterface[release.Key]
}

func newQueues(o Options) queues {
	return queues{
		releases: retryQueue[string](o, "release", 100*time.Millisecond, time.Minute),
		drift: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
			Name: "drift", Clock: o.Clock, MetricsProvider: o.Metrics.Queues(),
		}),
		status:  retryQueue[string](o, "status", time.Second, time.Minute),
		pruning: retryQueue[string](o, "leftover", 5*time.Second, 5*time.Minute),
		confirm: retryQueue[release.Key](o, "confirm", 100*time.Millisecond, time.Minute),
	}
}

func (q *queues) shutDown() {
	q.releases.ShutDown()
	q.drift.ShutDown()
	q.status.ShutDown()
	q.pruning.ShutDown()
	q.confirm.ShutDown()
}

// retryQueue returns a queue with a growing delay after each failure, from shortest to longest. The metrics use its
// name.
func retryQueue[T comparable](
	o Options, name string, shortest, longest time.Duration,
) workqueue.TypedRateLimitingInterface[T] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[T](shortest, longest)
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{
		Name: name, Clock: o.Clock, MetricsProvider: o.Metrics.Queues(),
	})
}

// serve works on every key of a queue at once, until the queue is shut down: the waits of one key do not delay another.
// Slots bound the concurrent work. next releases the key to the queue.
func serve[T comparable](group *errgroup.Group, queue workqueue.TypedInterface[T], next func(key T)) {
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
