// Package teams runs the process for the members of namespaces: for each HelmRelease it keeps a ReleaseLock in the
// namespace of the release, which shows the lock and pauses it for a bounded time. An operator and this process share
// the HelmReleases, and nothing else.
package teams

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/version"
	"github.com/rancher/helm-locker/pkg/viewer"
)

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
