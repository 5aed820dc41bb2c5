// Package operator wires the operator together: clients, controller, leader election, health and metrics. Run is the
// embedding API: a program that locks Helm releases needs nothing else of this module.
package operator

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/rancher/helm-locker/pkg/controller"
	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/version"
)

// Run runs an operator until ctx ends. It then finishes its work in progress, releases its lease, and returns nil. It
// returns an error when it cannot start, or has to stop: an operator without its lease must not write.
func Run(ctx context.Context, options ControllerOptions) error {
	o, err := options.complete()
	if err != nil {
		return err
	}
	m := metrics.New(version.Version, version.Commit)
	m.Shard(o.ControllerName, o.shard)
	if o.Registerer != nil {
		if err := o.Registerer.Register(m.Collector()); err != nil {
			return fmt.Errorf("register the metrics: %w", err)
		}
		defer o.Registerer.Unregister(m.Collector())
	}
	return runWith(ctx, o, m)
}

// runWith is Run with complete options and the metrics.
func runWith(ctx context.Context, o ControllerOptions, m *metrics.Metrics) error {
	config, err := process.Connect(o.ClientConfig, m.RoundTripper, o.Log)
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
	if o.TrustRecords == TrustAny && !o.Impersonate {
		o.Log.Info("trust in records: Any; any user who may write a release record decides what this operator writes")
	}
	if o.shard != nil {
		o.Log.Infof("shard %s, lease %s", o.shard, o.lease)
	}

	events, stopEvents, err := process.Recorder(conn.Kubernetes.CoreV1(), o.ControllerName, o.NodeName)
	if err != nil {
		return err
	}
	defer stopEvents()
	happened, err := newEvents(conn, o)
	if err != nil {
		return err
	}

	c, err := controller.New(ctx, conn.Clients, controller.Options{
		Namespace: o.Namespace, Name: o.ControllerName, ObjectSetMetadata: o.ObjectSetMetadata, Shard: o.shard,
		Storages: o.storages, GuardSecret: o.Guard.Secret,
		Witnessed: o.TrustRecords == TrustWitnessed, NeverWriters: o.never, Accounts: o.accounts(), Clock: o.Clock,
		Log: o.Log, Metrics: m, Events: events, Notify: happened.notifier(),
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	keeper, err := newGuard(config, conn, o, c)
	if err != nil {
		return err
	}
	all := program{options: o, conn: conn, controller: c, metrics: m, guard: keeper, events: happened}
	if o.Ready != nil {
		o.Ready(all.ready)
	}
	return all.run(ctx)
}

// run runs all parts until ctx ends or one of them fails. The listeners stay until the work has ended and its last
// events are read.
func (p *program) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	metrics, err := p.listenMetrics(ctx)
	if err != nil {
		return err
	}
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group.Go(func() error { return p.serve(lasting, metrics) })
	group.Go(func() error {
		defer stop()
		err := p.work(ctx)
		p.events.drain(ctx)
		return err
	})
	err = group.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	p.options.Log.Info("stopped")
	return err
}

// work runs the parts that watch and write until ctx ends or one of them fails.
func (p *program) work(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
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
	return group.Wait()
}
