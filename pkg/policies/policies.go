// Package policies runs the process that follows HelmReleasePolicies: it makes, changes and deletes their
// HelmReleases, as package policy plans, and writes their status. An operator and this process share these objects, and
// nothing else.
package policies

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/version"
	"github.com/rancher/helm-locker/pkg/viewer"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Run follows the policies until ctx ends, and returns nil then. It returns an error when it cannot start, or has lost
// its Lease.
func Run(ctx context.Context, options Options) error {
	o, err := options.complete()
	if err != nil {
		return err
	}
	m := newMetrics()
	config, err := process.Connect(o.ClientConfig, m.RoundTripper, o.Log)
	if err != nil {
		return err
	}
	o.Log.Infof("helm-locker %s policies, controller name %s", version.String(), o.ControllerName)
	kube, err := kubernetes.NewForConfig(process.Typed(process.Requests(config)))
	if err != nil {
		return fmt.Errorf("Kubernetes client: %w", err)
	}
	metadata, err := watch.NewMetadataClient(config)
	if err != nil {
		return fmt.Errorf("metadata client: %w", err)
	}
	handling, ended := context.WithCancel(context.WithoutCancel(ctx))
	defer ended()
	c, err := connect(handling, config, o.Namespace)
	if err != nil {
		return err
	}
	w := newWorker(o, c, metadata, m)
	recorder, stop, err := process.Recorder(kube.CoreV1(), o.ControllerName, o.NodeName)
	if err != nil {
		return err
	}
	defer stop()
	w.events = recorder
	w.helmReleases.OnChange(handling, "helm-locker", w.helmReleaseChanged)
	w.policies.OnChange(handling, "helm-locker", w.policyChanged)

	group, ctx := errgroup.WithContext(ctx)
	definitions := watch.NewDefinitions(metadata, o.Log, w.definitionChanged)
	group.Go(func() error { definitions.Run(ctx); return nil })
	group.Go(func() error { w.records.Run(ctx); return nil })
	group.Go(func() error { w.run(ctx); return nil })
	group.Go(func() error {
		<-ctx.Done()
		w.queue.ShutDown()
		return nil
	})
	group.Go(func() error { return w.elect(ctx, config) })
	group.Go(func() error { return w.serve(ctx, kube) })
	err = group.Wait()
	w.namespaces.wait()
	o.Log.Info("stopped")
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// connect makes the clients of HelmReleases and policies. The handlers of their caches stay until ctx ends.
func connect(ctx context.Context, config *rest.Config, namespace string) (c clients, err error) {
	factory, err := process.NewFactory(config, namespace)
	if err != nil {
		return c, fmt.Errorf("client of policies: %w", err)
	}
	c.start = func(ctx context.Context) error { return factory.Start(ctx, 1) }
	c.helmReleases, err = process.Cached[*v1alpha1.HelmRelease, *v1alpha1.HelmReleaseList](ctx,
		factory.Helm().V1alpha1().HelmRelease())
	if err != nil {
		return c, err
	}
	c.policies, err = process.Cached[*v1alpha1.HelmReleasePolicy, *v1alpha1.HelmReleasePolicyList](ctx,
		factory.Helm().V1alpha1().HelmReleasePolicy())
	return c, err
}

// elect lets the worker write while this replica leads.
func (w *worker) elect(ctx context.Context, config *rest.Config) error {
	if !w.LeaderElection {
		w.lead(true)
		<-ctx.Done()
		w.lead(false)
		return nil
	}
	client, err := process.Leases(config, w.LeaseDuration)
	if err != nil {
		return fmt.Errorf("lease client: %w", err)
	}
	return process.Election{
		Client: client, Namespace: w.Namespace, Name: w.lease, Duration: w.LeaseDuration, NodeName: w.NodeName,
		PodUID: w.PodUID, Log: w.Log,
		Lead: func(context.Context) { w.lead(true) }, Unlead: func() { w.lead(false) },
	}.Run(ctx)
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

// notReady returns why the policies are not followed yet.
func (w *worker) notReady() error {
	select {
	case <-w.ready:
		return nil
	default:
	}
	if err := w.records.Err(); err != nil {
		return fmt.Errorf("still reading the release records: %w", err)
	}
	return errors.New("still reading the release records, or waiting for the CustomResourceDefinitions")
}

// run follows the policies until ctx ends.
func (w *worker) run(ctx context.Context) {
	select {
	case <-w.records.Synced():
	case <-ctx.Done():
		return
	}
	w.startCaches(ctx)
	if ctx.Err() != nil {
		return
	}
	close(w.ready)
	w.Log.Infof("following the HelmReleasePolicies of namespace %s", w.Namespace)
	for w.next(ctx) {
	}
}

// next makes a plan and carries it out.
func (w *worker) next(ctx context.Context) bool {
	key, shutdown := w.queue.Get()
	if shutdown {
		return false
	}
	defer w.queue.Done(key)
	begun := w.Clock.Now()
	if wait := w.notBefore.Sub(begun); wait > 0 {
		w.queue.AddAfter(key, wait)
		return true
	}
	switch again, err := w.reconcile(ctx); {
	case err != nil:
		w.Log.Warnf("policies: %v; trying again", err)
		w.queue.AddRateLimited(key)
	default:
		w.queue.Forget(key)
		if !again.IsZero() {
			w.queue.AddAfter(key, again.Sub(w.Clock.Now()))
		}
	}
	return true
}
