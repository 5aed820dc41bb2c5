// Package teams runs the process for the members of namespaces: for each HelmRelease it keeps a ReleaseLock in the
// namespace of the release, which shows the lock and pauses it for a bounded time. An operator and this process share
// the HelmReleases, and nothing else.
package teams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/version"
	"github.com/rancher/helm-locker/pkg/viewer"
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

// Run keeps the ReleaseLocks until ctx ends, and returns nil then. It returns an error when it cannot start. Several
// replicas do no harm: each write names the version that it replaces.
func Run(ctx context.Context, options Options) error {
	o, err := options.complete()
	if err != nil {
		return err
	}
	m, _ := metrics.NewProcess()
	config, err := process.Connect(o.ClientConfig, m.RoundTripper, o.Log)
	if err != nil {
		return err
	}
	o.Log.Infof("helm-locker %s teams, controller name %s, pauses of %s at most", version.String(), o.ControllerName,
		o.LongestPause)
	kube, err := kubernetes.NewForConfig(process.Typed(process.Requests(config)))
	if err != nil {
		return fmt.Errorf("Kubernetes client: %w", err)
	}
	handling, ended := context.WithCancel(context.WithoutCancel(ctx))
	defer ended()
	c, err := connect(handling, config, o.Namespace)
	if err != nil {
		return err
	}
	w := newWorker(o, c, m)
	var stop func()
	if w.events, stop, err = process.Recorder(kube.CoreV1(), o.ControllerName, o.NodeName); err != nil {
		return err
	}
	defer stop()
	if w.operators, err = newOperators(kube, o.Namespace, o.Clock, w.compareAll); err != nil {
		return fmt.Errorf("watch Leases: %w", err)
	}
	w.helmReleases.OnChange(handling, "helm-locker", w.helmReleaseChanged)
	w.locks.OnChange(handling, "helm-locker", w.lockChanged)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { w.operators.informer.RunWithContext(ctx); return nil })
	group.Go(func() error { return w.operators.run(ctx) })
	group.Go(func() error { return w.run(ctx) })
	group.Go(func() error { return w.serve(ctx, kube) })
	if err := group.Wait(); !errors.Is(err, context.Canceled) && err != nil {
		return err
	}
	o.Log.Info("stopped")
	return nil
}

// serve answers about the process itself.
func (w *worker) serve(ctx context.Context, kube kubernetes.Interface) error {
	var viewers *viewer.Reviewer
	if w.MetricsAuth {
		viewers = viewer.New(kube, w.Clock, w.Log)
	}
	return process.Listeners{
		MetricsAddress: w.MetricsAddress, HealthAddress: w.HealthAddress, Profiles: w.PprofEnabled, Log: w.Log,
		Metrics: process.Guarded(w.metrics.Handler(), w.MetricsHosts, viewers), Ready: w.notReady,
	}.Run(ctx)
}

// notReady returns why the ReleaseLocks are not kept yet.
func (w *worker) notReady() error {
	select {
	case <-w.ready:
		return nil
	default:
		return errors.New("still reading HelmReleases and ReleaseLocks")
	}
}
