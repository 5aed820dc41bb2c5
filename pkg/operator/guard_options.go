package operator

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/rancher/helm-locker/pkg/guard"
)

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

func (g *GuardOptions) served() bool { return g.Address != "" && g.Address != "0" }

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

// guardPort is the default port of a guard's Service.
const guardPort = 443
