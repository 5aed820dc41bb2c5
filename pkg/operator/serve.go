package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// serve runs the HTTP listeners that are asked for until ctx ends.
func (p *program) serve(ctx context.Context) error {
	o := p.options
	var viewers *viewer.Reviewer
	if o.MetricsAuth {
		viewers = viewer.New(p.conn.Kubernetes, o.Clock, o.Log)
	}
	return process.Listeners{
		MetricsAddress: o.MetricsAddress, HealthAddress: o.HealthAddress, Profiles: o.PprofEnabled, Log: o.Log,
		Metrics: process.Guarded(p.metrics.Handler(), o.MetricsHosts, viewers), Ready: p.ready,
	}.Run(ctx)
}

// ready returns why the operator does not watch and judge yet.
func (p *program) ready() error {
	select {
	case <-p.controller.Ready():
		return nil
	default:
	}
	if err := p.controller.RecordsError(); err != nil {
		return fmt.Errorf("still reading the release records: %w", err)
	}
	return errors.New("still reading the release records")
}
