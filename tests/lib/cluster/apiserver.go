package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

// APIServer is one of the API servers of a cluster. All of them share one etcd.
type APIServer struct {
	cluster *Cluster
	name    string // of its log
	port    *port
	etcd    string    // address at which it reaches etcd
	args    []string  // win over those of all
	process *Process  // nil while it does not run; guarded by cluster.mu
	down    time.Time // since when it does not answer; guarded by cluster.mu
}

// AddAPIServer starts one more API server. It reaches etcd at the given address: EtcdAddress, or a Balancer's. The
// given flags override those of the cluster. AddAPIServer returns when the API server is ready. The API server runs
// until the cluster's Stop.
func (c *Cluster) AddAPIServer(ctx context.Context, etcd string, args ...string) (*APIServer, error) {
	s, err := c.addAPIServer(etcd, args...)
	if err != nil {
		return nil, err
	}
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// addAPIServer reserves a port and registers an API server without starting it.
func (c *Cluster) addAPIServer(etcd string, args ...string) (*APIServer, error) {
	reserved, err := reservePort()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &APIServer{cluster: c, name: "kube-apiserver", port: reserved, etcd: etcd, args: args}
	if n := len(c.apiServers); n > 0 {
		s.name = fmt.Sprintf("kube-apiserver-%d", n+1)
	}
	c.apiServers = append(c.apiServers, s)
	return s, nil
}

// EtcdAddress returns host:port of etcd.
func (c *Cluster) EtcdAddress() string { return c.etcdPort.address() }

// Address returns host:port of the API server.
func (s *APIServer) Address() string { return s.port.address() }

// Start starts the API server again after Kill, on the same port, and returns when it is ready.
func (s *APIServer) Start(ctx context.Context) error {
	c := s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || s.process != nil {
		return errors.New("the API server is running already, or the cluster was stopped")
	}
	config := c.RESTConfig()
	config.Host, config.Timeout = "https://"+s.Address(), 2*time.Second
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("create a client for the API server: %w", err)
	}
	defer client.CloseIdleConnections()
	// A killed API server has written no end of its watches to the audit log.
	if err := c.recording.note(map[string]any{"started": time.Now()}); err != nil {
		return err
	}
	if s.process, err = c.run(c.binaries.APIServer, s.name, c.apiServerArgs(s)); err != nil {
		return err
	}
	err = s.process.WaitFor(ctx, "the API server", func(ctx context.Context) error {
		// The namespace "default" is created in the background, and is not part of being ready.
		if err := getOK(ctx, client, config.Host+"/readyz"); err != nil {
			return err
		}
		return getOK(ctx, client, config.Host+"/api/v1/namespaces/default")
	})
	return errors.Join(err, s.up())
}

// up notes the end of an outage of the only API server, for the oracle. cluster.mu is held.
func (s *APIServer) up() error {
	down := s.down
	s.down = time.Time{}
	if down.IsZero() || len(s.cluster.apiServers) > 1 {
		return nil
	}
	return s.cluster.recording.note(map[string]any{"down": down, "up": time.Now()})
}

// Kill kills the API server, as a crash would: no watch ends cleanly. Etcd and the data stay.
func (s *APIServer) Kill() error {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	s.down = time.Now()
	err := s.process.Kill()
	s.process = nil
	return err
}

// StartAPIServer starts the first API server again after StopAPIServer, as APIServer.Start does.
func (c *Cluster) StartAPIServer(ctx context.Context) error { return c.apiServer.Start(ctx) }

// StopAPIServer kills the API server, as APIServer.Kill does.
func (c *Cluster) StopAPIServer() error { return c.apiServer.Kill() }

// RestartAPIServer is StopAPIServer and StartAPIServer. Flags override those of the cluster until the next restart.
func (c *Cluster) RestartAPIServer(ctx context.Context, args ...string) error {
	if err := c.StopAPIServer(); err != nil {
		return err
	}
	c.mu.Lock()
	c.apiServer.args = args
	c.mu.Unlock()
	return c.StartAPIServer(ctx)
}

// Pause freezes the API server until Resume: connections stay open and, from when Pause returns, nothing is answered.
func (c *Cluster) Pause() error {
	return c.withAPIServer(func(s *APIServer) error {
		s.down = time.Now()
		return s.process.pause()
	})
}

// Resume ends a Pause.
func (c *Cluster) Resume() error {
	return c.withAPIServer(func(s *APIServer) error { return errors.Join(s.process.signal(syscall.SIGCONT), s.up()) })
}

func (c *Cluster) withAPIServer(do func(*APIServer) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apiServer.process == nil {
		return errors.New("the API server is not running")
	}
	return do(c.apiServer)
}

const (
	// apiServersVariable sets the number of API servers of a cluster; the default is one. Several API servers are
	// behind a balancer, which all configurations and proxies use. The last of them receives etcd's events later.
	apiServersVariable = "HELM_LOCKER_API_SERVERS"
	slowness           = 300 * time.Millisecond
)

// reserveAPIServers creates the API servers for Start. The slow connection is delayed only once they are ready: an
// API server makes hundreds of requests one after another when it starts.
func (c *Cluster) reserveAPIServers() (slow *Balancer, err error) {
	n := 1
	if value := os.Getenv(apiServersVariable); value != "" && !c.options.Detach { // the balancer is of this process
		if n, err = strconv.Atoi(value); err != nil || n < 1 {
			return nil, fmt.Errorf("%s is %q, want a number from 1 on", apiServersVariable, value)
		}
	}
	backends := make([]string, n)
	for i := range n {
		etcd := c.EtcdAddress()
		if i > 0 && i == n-1 {
			if slow, err = c.StartBalancer(etcd); err != nil {
				return nil, err
			}
			etcd = slow.Address()
		}
		s, err := c.addAPIServer(etcd)
		if err != nil {
			return nil, err
		}
		backends[i] = s.Address()
		if i == 0 {
			c.apiServer = s
		}
	}
	if n > 1 {
		c.front, err = c.StartBalancer(backends...)
	}
	return slow, err
}

// address returns the host:port of the API server, or of its balancer.
func (c *Cluster) address() string {
	if c.front != nil {
		return c.front.Address()
	}
	return c.apiServer.Address()
}
