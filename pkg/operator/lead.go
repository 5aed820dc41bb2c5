package operator

import (
	"context"
	"sync"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/rancher/helm-locker/pkg/process"
)

// lead lets the controller write while this operator leads, and gives the lease up when ctx ends.
func (p *program) lead(ctx context.Context) error {
	o := p.options
	if !o.LeaderElection {
		p.setLeading(true)
		var announcing sync.WaitGroup
		if p.events != nil {
			announcing.Go(func() { p.events.announceAlone(ctx, p.conn, o) })
		}
		p.retireGuard(ctx)
		<-ctx.Done()
		announcing.Wait()
		p.setLeading(false)
		return nil
	}
	var client coordinationv1.LeasesGetter = p.conn.leases
	if p.events != nil {
		client = announcing{client, p.events}
	}
	return process.Election{
		Client: client, Namespace: o.Namespace, Name: o.lease, Duration: o.LeaseDuration, NodeName: o.NodeName,
		PodUID: o.PodUID, Log: o.Log,
		Lead: func(ctx context.Context) {
			p.setLeading(true)
			p.retireGuard(ctx)
		},
		Unlead: func() { p.setLeading(false) },
	}.Run(ctx)
}

// setLeading informs the controller, the metrics and the guard of a change of leadership.
func (p *program) setLeading(leading bool) {
	p.metrics.Leading(leading)
	if p.guard != nil {
		p.guard.Lead(leading)
	}
	if leading {
		p.controller.Lead()
	} else {
		p.controller.Unlead()
	}
}
