package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// listenMetrics opens the address of metrics and events, before any Lease announces it; nil for none.
func (p *program) listenMetrics(ctx context.Context) (net.Listener, error) {
	o := p.options
	if p.events == nil {
		return nil, nil
	}
	listener, err := process.Listen(ctx, "metrics", o.MetricsAddress, o.Log)
	if err != nil {
		return nil, err
	}
	return p.events.on(listener, o.Log)
}

// serve runs the configured HTTP listeners until ctx ends. The one of the metrics may be open already.
func (p *program) serve(ctx context.Context, metrics net.Listener) error {
	o := p.options
	var viewers *viewer.Reviewer
	if o.MetricsAuth {
		viewers = viewer.New(p.conn.Kubernetes, o.Clock, o.Log)
	}
	var events http.Handler
	if p.events != nil {
		events = p.events
	}
	return process.Listeners{
		MetricsListener: metrics, Events: events,
		MetricsAddress: o.MetricsAddress, HealthAddress: o.HealthAddress, Profiles: o.PprofEnabled, Log: o.Log,
		Metrics: process.Guarded(p.metrics.Handler(), o.MetricsHosts, viewers), Ready: p.ready,
	}.Run(ctx)
}

// ready returns why the operator does not watch and judge yet.
func (p *program) ready() error {
	select {
	case <-p.controller.Ready():
		if p.guard != nil && !p.guard.Looked() {
			return errors.New("still reading the certificate of the guard")
		}
		return nil
	default:
	}
	if err := p.controller.RecordsError(); err != nil {
		return fmt.Errorf("still reading the release records: %w", err)
	}
	return errors.New("still reading the release records")
}
