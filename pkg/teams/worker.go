package teams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

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

// DefaultLongestPause bounds a pause where no other bound is set.
const DefaultLongestPause = time.Hour

// Options configure the process.
type Options struct {
	// ClientConfig is for the API server. Required.
	ClientConfig clientcmd.ClientConfig
	// Namespace and ControllerName are those of the operator whose HelmReleases are shown; required.
	Namespace, ControllerName string
	// LongestPause bounds a pause, from the time of the request; DefaultLongestPause when zero. A minute is the least.
	LongestPause time.Duration
	// NodeName becomes part of events.
	NodeName string

	// MetricsAddress, HealthAddress, MetricsHosts, MetricsAuth and PprofEnabled are as those of an operator.
	MetricsAddress, HealthAddress string
	MetricsHosts                  []string
	MetricsAuth, PprofEnabled     bool
	// Log receives all log lines; text on standard error at level info when nil.
	Log *logrus.Logger
	// Clock is for the time and for timers; the real one when nil.
	Clock clock.WithTicker
}

func (o Options) complete() (Options, error) {
	if o.ClientConfig == nil || o.Namespace == "" || o.ControllerName == "" {
		return o, errors.New("the process for teams needs ClientConfig, Namespace and ControllerName")
	}
	if o.LongestPause == 0 {
		o.LongestPause = DefaultLongestPause
	}
	if o.LongestPause < time.Minute {
		return o, fmt.Errorf("the longest pause, %s, must be a minute or more", o.LongestPause)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = logrus.New()
	}
	return o, nil
}

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
