// Package operator wires the operator together: clients, controller, leader election, health and metrics. Run is the
// embedding API: a program that wants to lock Helm releases calls it and needs nothing else of this module.
package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rancher/helm-locker/pkg/controller"
	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/notify"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/version"
)

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
	config, err := process.Connect(o.ClientConfig, m.RoundTripper, o.Log)
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
	handling, ended := context.WithCancel(context.WithoutCancel(ctx))
	defer ended()
	conn, err := connect(handling, config, o)
	if err != nil {
		return err
	}
	conn.ListsReadStorage = listsReadStorage(conn.Discovery, o.Log)
	o.Log.Infof("helm-locker %s, controller name %s", version.String(), o.ControllerName)
	if o.shard != nil {
		o.Log.Infof("shard %s, lease %s", o.shard, o.lease)
	}

	events, stopEvents, err := process.Recorder(conn.Kubernetes.CoreV1(), o.ControllerName, o.NodeName)
	if err != nil {
		return err
	}
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
		if err := process.Fill(ctx, p.conn.factory, "HelmReleases"); err != nil {
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
