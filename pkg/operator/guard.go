package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/controller"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/serving"
)

// newGuard returns the Keeper of the guard; nil for an operator without a guard.
func newGuard(
	config *rest.Config,
	conn *connection,
	o ControllerOptions,
	c *controller.Controller,
) (*guard.Keeper, error) {
	g, err := o.Guard.check()
	if err != nil || !o.Guard.served() {
		return nil, err
	}
	watches, err := kubernetes.NewForConfig(config) // without a time limit
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	g.Client, g.Watch, g.Namespace, g.Name = conn.Kubernetes, watches, o.Namespace,
		judge.Registration(o.Namespace, o.Guard.Secret)
	g.Wanted, g.Ready, g.Changed, g.State = c.Guarded, c.Warm(), c.GuardedChanged(), c.SetGuard
	g.Clock, g.Log = o.Clock, o.Log
	return guard.NewKeeper(g)
}

// retireGuard removes the registration of a guard that this operator no longer serves. It is called once the operator
// leads: before, a leader with a guard would write it again.
func (p *program) retireGuard(ctx context.Context) {
	if p.guard != nil {
		return
	}
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: time.Second, Factor: 2, Steps: 6},
		func(ctx context.Context) (bool, error) {
			last = guard.Retire(ctx, p.conn.Kubernetes,
				judge.Registration(p.options.Namespace, p.options.Guard.Secret))
			return last == nil || apierrors.IsForbidden(last), nil
		})
	if err = errors.Join(err, last); err != nil && ctx.Err() == nil {
		p.options.Log.Infof("guard: a registration that an operator with a guard left would stay: %v", err)
	}
}

// guardLimits are those for API servers: each opens a connection for every request in flight, 600 by default, and waits
// 2 seconds for an answer. The guard bounds the requests by namespace. An API server keeps its connections, also to a
// replica that has left the Service.
func guardLimits() serving.Limits {
	limits := serving.Standard()
	limits.Connections, limits.Read, limits.Write, limits.Idle = 2048, 2*time.Second, 5*time.Second, 2*time.Minute
	limits.Drain = time.Second
	return limits
}

// serveGuard answers the API server until ctx ends, on every replica.
func (p *program) serveGuard(ctx context.Context) error {
	o := p.options
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", o.Guard.Address)
	if err != nil {
		return fmt.Errorf("guard address: %w", err)
	}
	o.Log.Debugf("guard on %s", listener.Addr())
	handler := guard.NewHandler(p.guard.Path, p.controller.Admit, p.controller.Witness, o.Log)
	if err := serving.Run(ctx, tls.NewListener(listener, p.guard.TLS()), handler, guardLimits(), o.Log); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	return nil
}
