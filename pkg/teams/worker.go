package teams

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/generated/controllers/teams.helm.cattle.io"
	teamscontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/process"
)

const (
	// delay coalesces the events of a release before its ReleaseLock is compared.
	delay = 100 * time.Millisecond
	// workers bounds the requests at the same time.
	workers = 4
	// startRetry is the time between two tries to fill the caches.
	startRetry = 5 * time.Second
	// byRelease is the index of HelmReleases by the release that they name.
	byRelease = "release"
)

// clients are the connections to the API server.
type clients struct {
	helmReleases helmcontrollers.HelmReleaseController
	locks        teamscontrollers.ReleaseLockController
	// fill fills the caches of both.
	fill func(context.Context) error
}

// worker keeps one ReleaseLock for each release that a HelmRelease names. The key of a ReleaseLock is that of its
// release.
type worker struct {
	Options
	clients
	events    record.EventRecorder
	metrics   *metrics.Process
	operators *operators
	queue     workqueue.TypedRateLimitingInterface[types.NamespacedName]
	ready     chan struct{} // closed when the caches are filled
}

func newWorker(o Options, c clients, m *metrics.Process) *worker {
	w := &worker{Options: o, clients: c, metrics: m, ready: make(chan struct{}),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](time.Second, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{
				Name: "releaselock", Clock: o.Clock, MetricsProvider: m.Queues(),
			})}
	w.helmReleases.Cache().AddIndexer(byRelease, func(hr *helm.HelmRelease) ([]string, error) {
		return []string{keyOf(hr).String()}, nil
	})
	return w
}

// connect makes the clients: of HelmReleases in the operator's namespace, and of ReleaseLocks in all namespaces. The
// handlers of their caches stay until ctx ends.
func connect(ctx context.Context, config *rest.Config, namespace string) (c clients, err error) {
	own, err := process.NewFactory(config, namespace)
	if err != nil {
		return c, fmt.Errorf("client of HelmReleases: %w", err)
	}
	caches, err := process.NewCaches(config, "")
	if err != nil {
		return c, fmt.Errorf("client of ReleaseLocks: %w", err)
	}
	all, err := teams.NewFactoryFromConfigWithOptions(config, &teams.FactoryOptions{SharedCacheFactory: caches})
	if err != nil {
		return c, fmt.Errorf("client of ReleaseLocks: %w", err)
	}
	c.fill = func(ctx context.Context) error {
		if err := own.Start(ctx, 1); err != nil {
			return fmt.Errorf("watch HelmReleases: %w", err)
		}
		if err := all.Start(ctx, 1); err != nil {
			return fmt.Errorf("watch ReleaseLocks: %w", err)
		}
		return nil
	}
	c.helmReleases, err = process.Cached[*helm.HelmRelease, *helm.HelmReleaseList](ctx,
		own.Helm().V1alpha1().HelmRelease())
	if err != nil {
		return c, err
	}
	c.locks, err = process.Cached[*v1alpha1.ReleaseLock, *v1alpha1.ReleaseLockList](ctx,
		all.Teams().V1alpha1().ReleaseLock())
	return c, err
}

// keyOf returns the key of the release that a HelmRelease names.
func keyOf(hr *helm.HelmRelease) types.NamespacedName {
	return types.NamespacedName{Namespace: hr.Spec.Release.Namespace, Name: hr.Spec.Release.Name}
}

// helmReleaseChanged is called for a created or changed HelmRelease, and with nil for a deleted one.
func (w *worker) helmReleaseChanged(_ string, hr *helm.HelmRelease) (*helm.HelmRelease, error) {
	if hr != nil {
		w.queue.AddAfter(keyOf(hr), delay)
		return hr, nil
	}
	w.compareAll() // a deleted object has no release any more
	return nil, nil
}

// compareAll compares all ReleaseLocks with their HelmReleases.
func (w *worker) compareAll() {
	for _, o := range w.locks.Informer().GetStore().List() {
		if rl, ok := o.(*v1alpha1.ReleaseLock); ok {
			w.queue.AddAfter(types.NamespacedName{Namespace: rl.Namespace, Name: rl.Name}, delay)
		}
	}
}

// lockChanged is called for each event of a ReleaseLock.
func (w *worker) lockChanged(key string, rl *v1alpha1.ReleaseLock) (*v1alpha1.ReleaseLock, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return rl, err
	}
	w.queue.AddAfter(types.NamespacedName{Namespace: namespace, Name: name}, delay)
	return rl, nil
}

// run keeps the ReleaseLocks until ctx ends.
func (w *worker) run(ctx context.Context) error {
	for err := w.fill(ctx); err != nil && ctx.Err() == nil; err = w.fill(ctx) {
		w.Log.Warnf("%v; trying again", err)
		select {
		case <-w.Clock.After(startRetry):
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		w.queue.ShutDown()
		return ctx.Err()
	}
	if !cache.WaitForCacheSync(ctx.Done(), w.operators.informer.HasSynced) {
		w.queue.ShutDown()
		return ctx.Err()
	}
	close(w.ready)
	w.Log.Infof("showing the HelmReleases of namespace %s", w.Namespace)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for w.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	w.queue.ShutDown()
	running.Wait()
	return nil
}

// next compares one ReleaseLock with its HelmRelease.
func (w *worker) next(ctx context.Context) bool {
	key, shutdown := w.queue.Get()
	if shutdown {
		return false
	}
	defer w.queue.Done(key)
	if ctx.Err() != nil {
		return true
	}
	if err := w.reconcile(key); err != nil {
		w.Log.WithField("releaselock", key.String()).Warnf("%v; trying again", err)
		w.queue.AddRateLimited(key)
		return true
	}
	w.queue.Forget(key)
	return true
}
