// Package operator wires the operator together: clients, controller, leader election, health and metrics. Run is the
// embedding API: a program that wants to lock Helm releases calls it and needs nothing else of this module.
package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/controller"
	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/notify"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/version"
)

// syncTimeout bounds how long the HelmReleases may take to be listed at the start.
const syncTimeout = 2 * time.Minute

// program is an operator that is made and not yet running.
type program struct {
	options    ControllerOptions
	conn       *connection
	controller *controller.Controller
	metrics    *metrics.Metrics
	page       *page.Page    // nil when none is asked for
	guard      *guard.Keeper // nil when none is asked for
}

// Run runs an operator until ctx ends, and returns nil then, after its work in progress is done and its lease is
// given up. It returns an error when it cannot start, or has to stop: an operator that lost its lease must not go
// on writing.
func Run(ctx context.Context, options ControllerOptions) error {
	o, err := options.complete()
	if err != nil {
		return err
	}
	m := metrics.New(version.Version, version.Commit)
	m.Shard(o.ControllerName, o.shard)
	config, err := o.restConfig(m)
	if err != nil {
		return err
	}
	notifier, err := notify.New(o.Notify, o.Clock, o.Log, m)
	if err != nil {
		return err
	}
	if !o.SkipCRD {
		if err := crd.Create(ctx, config); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("install the CustomResourceDefinition: %w", err)
		}
	}
	conn, err := connect(config, o)
	if err != nil {
		return err
	}
	conn.ListsReadStorage = listsReadStorage(conn.Discovery, o.Log)
	handling, ended := context.WithCancel(context.WithoutCancel(ctx))
	defer ended()
	conn.HelmReleases = handlersUntil[*v1alpha1.HelmRelease, *v1alpha1.HelmReleaseList]{conn.HelmReleases, handling}
	conn.Policies = handlersUntil[*v1alpha1.HelmReleasePolicy, *v1alpha1.HelmReleasePolicyList]{conn.Policies, handling}
	o.Log.Infof("helm-locker %s, controller name %s", version.String(), o.ControllerName)
	if o.shard != nil {
		o.Log.Infof("shard %s, lease %s", o.shard, o.lease)
	}

	events, stopEvents := recorder(conn, o)
	defer stopEvents()
	defer startNotifying(ctx, notifier)()

	c, err := controller.New(ctx, conn.Clients, controller.Options{
		Namespace: o.Namespace, Name: o.ControllerName, ObjectSetMetadata: o.ObjectSetMetadata, Shard: o.shard,
		Storages: o.storages, GuardSecret: o.Guard.Secret,
		Accounts: o.accounts(), Clock: o.Clock, Log: o.Log, Metrics: m, Events: events, Notify: notifier,
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := newPage(ctx, config, conn, o, c.Ready())
	if err != nil {
		return err
	}
	keeper, err := newGuard(config, conn, o, c)
	if err != nil {
		return err
	}
	return (&program{options: o, conn: conn, controller: c, metrics: m, page: p, guard: keeper}).run(ctx)
}

// run runs all parts until ctx ends or one of them fails.
func (p *program) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.page.Run(ctx) })
	group.Go(func() error { return p.serve(ctx) })
	if p.guard != nil {
		group.Go(func() error { return p.serveGuard(ctx) })
		group.Go(func() error { return p.guard.Run(ctx) })
	}
	group.Go(func() error {
		if err := startFactory(ctx, p.conn); err != nil {
			return err
		}
		return p.controller.Run(ctx)
	})
	group.Go(func() error { return p.lead(ctx) })
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	p.options.Log.Info("stopped")
	return err
}

// startNotifying runs the notifier until the returned function is called, which waits until what is left is sent: it
// outlives the controller, whose last messages are not to be lost.
func startNotifying(ctx context.Context, n *notify.Notifier) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { n.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// startFactory starts the HelmRelease cache and waits until it is filled, the operator is told to stop (nil) or
// syncTimeout has passed.
func startFactory(ctx context.Context, conn *connection) error {
	started := make(chan error, 1)
	go func() { started <- conn.factory.Start(ctx, 1) }()
	timeout := time.NewTimer(syncTimeout)
	defer timeout.Stop()
	select {
	case err := <-started:
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch HelmReleases: %w", err)
		}
		return nil
	case <-timeout.C:
		return fmt.Errorf("list HelmReleases: not answered in %s", syncTimeout)
	}
}

// recorder returns a recorder of events; client-go aggregates what repeats and limits what floods. It limits by
// object, so that after a storm of drift no user would hear for minutes that the release is contended or unlocked:
// here, by reason, too.
func recorder(conn *connection, o ControllerOptions) (record.EventRecorder, func()) {
	spamKey := func(e *corev1.Event) string {
		return string(e.InvolvedObject.UID) + e.InvolvedObject.Kind + e.InvolvedObject.Namespace + "/" +
			e.InvolvedObject.Name + "/" + e.Reason
	}
	broadcaster := record.NewBroadcaster(
		record.WithCorrelatorOptions(record.CorrelatorOptions{SpamKeyFunc: spamKey}))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: conn.Kubernetes.CoreV1().Events("")})
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		o.Log.Errorf("event scheme: %v", err)
	}
	return broadcaster.NewRecorder(scheme, corev1.EventSource{Component: o.ControllerName, Host: o.NodeName}),
		broadcaster.Shutdown
}
