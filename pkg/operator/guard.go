package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
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

// guardPort is the default port of a guard's Service.
const guardPort = 443

// GuardOptions configure the guard and the API server's way to it. All are unset for an operator without one.
type GuardOptions struct {
	// Address serves the guard, for example ":9443"; nothing is served when empty.
	Address string
	// Service is the Service in front of it, "name" or "name:port", in the operator's namespace.
	Service string
	// LeaderService is a Service without a selector in the operator's namespace, with a port named "guard". The leader
	// writes its EndpointSlice. While no release denies changes, the API server asks the leader alone, which then knows
	// the user of each; empty for none. It needs PodIP, and a port in Address.
	LeaderService string
	// PodIP is the address of this replica.
	PodIP string
	// URL is "https://host:port", for an operator outside of the cluster. It excludes Service.
	URL string
	// Secret is the Secret in the operator's namespace with the certificate; the name of the lease with "-guard" when
	// empty.
	Secret string
	// CertManager is set when cert-manager writes that Secret. The operator only reads it then.
	CertManager bool
	// ClientCA is a file with the authorities for client certificates of API servers. The guard then rejects other
	// clients. When empty, it accepts every client with the path of the registration.
	ClientCA string
	// Owner is a ClusterRole: with its deletion, Kubernetes deletes the guard's registration; empty for none.
	Owner string
}

func (g *GuardOptions) served() bool { return g.Address != "" && g.Address != "0" }

// check validates the options, and returns those of the Keeper that follow from them. They are empty if no guard is
// served.
func (g *GuardOptions) check() (o guard.Options, err error) {
	if !g.served() {
		return o, nil
	}
	if (g.Service == "") == (g.URL == "") {
		return o, errors.New("the API server has to reach the guard: with --guard-address, set either " +
			"--guard-service or --guard-url")
	}
	if g.URL != "" && g.LeaderService != "" {
		return o, errors.New("--guard-leader-service goes with --guard-service, not with --guard-url")
	}
	if o.Leader, err = g.leader(); err != nil {
		return o, err
	}
	o.Secret, o.CertManager, o.ClientCA, o.Owner, o.URL = g.Secret, g.CertManager, g.ClientCA, g.Owner, g.URL
	service, text, named := strings.Cut(g.Service, ":")
	o.Service, o.Port = service, guardPort
	if !named {
		return o, nil
	}
	if o.Port, err = portOf(text); err != nil || service == "" {
		return o, fmt.Errorf("guard service %q: want NAME or NAME:PORT", g.Service)
	}
	return o, nil
}

// leader returns the way to this replica when it leads.
func (g *GuardOptions) leader() (guard.Leader, error) {
	if g.LeaderService == "" {
		return guard.Leader{}, nil
	}
	if net.ParseIP(g.PodIP) == nil {
		return guard.Leader{}, fmt.Errorf("--guard-leader-service needs the address of this Pod: --pod-ip %q", g.PodIP)
	}
	_, text, err := net.SplitHostPort(g.Address)
	if err != nil {
		return guard.Leader{}, fmt.Errorf("guard address: %w", err)
	}
	port, err := portOf(text)
	if err != nil {
		return guard.Leader{}, fmt.Errorf("--guard-leader-service needs a port in --guard-address %s: %w", g.Address,
			err)
	}
	return guard.Leader{Service: g.LeaderService, IP: g.PodIP, Port: port}, nil
}

func portOf(text string) (int32, error) {
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return 0, fmt.Errorf("%q is no port", text)
	}
	return int32(number), nil
}

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
