package controller

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/util/workqueue"
)

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

// nextRelease reconciles one HelmRelease, in a slot of the namespace of its release.
func (c *Controller) nextRelease(ctx context.Context, key string) {
	defer c.releaseQueue.Done(key)
	defer c.start.done(key)
	slot, err := c.slots.loading.acquire(ctx, c.namespaceOf(key))
	if err != nil { // the operator stops
		return
	}
	defer slot()
	if err := c.reconcile(ctx, key); err != nil {
		c.Log.WithField("helmrelease", key).Warnf("reconcile: %v; trying again", err)
		c.releaseQueue.AddRateLimited(key)
	} else {
		c.releaseQueue.Forget(key)
	}
	c.statusChanged(key)
}

// toReconcile returns how many HelmReleases wait to be reconciled.
func (c *Controller) toReconcile() int { return c.releaseQueue.Len() + c.slots.loading.waiting() }

// namespaceOf returns the namespace of the release that a HelmRelease names; empty when it is gone.
func (c *Controller) namespaceOf(key string) string {
	hr := c.cached(key)
	if hr == nil {
		return ""
	}
	return hr.Spec.Release.Namespace
}
