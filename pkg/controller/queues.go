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
	// lockingPatience is how long a new lock may take to read its objects before the status says that it does: most
	// take less, also when they wait for others (relistTimeout), and need one write of the status instead of two.
	lockingPatience = 20 * time.Second

	// eventsPerSecond and eventBurst bound the events about drift, for each namespace of releases.
	eventsPerSecond = 2
	eventBurst      = 50
)

// queues hold what each worker has to do: HelmRelease keys, and for confirm the releases to which writes are to be
// proven.
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

// retryQueue returns a queue in which what failed waits longer every time, from shortest to longest. Its name is what
// the metrics call it.
func retryQueue[T comparable](
	o Options, name string, shortest, longest time.Duration,
) workqueue.TypedRateLimitingInterface[T] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[T](shortest, longest)
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{
		Name: name, Clock: o.Clock, MetricsProvider: o.Metrics.Queues(),
	})
}

// serve has every key of a queue worked on at once, until the queue is shut down: what waits for one key is in no
// other's way. Slots bound what is done at the same time. next gives the key back to the queue.
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

func work(group *errgroup.Group, workers int, next func() bool) {
	for range workers {
		group.Go(func() error {
			for next() {
			}
			return nil
		})
	}
}
