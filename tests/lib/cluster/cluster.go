package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Cluster is a running control plane. Its methods may be called concurrently.
type Cluster struct {
	options  Options
	binaries Binaries
	dir      string
	// release gives a temporary dir up and removes it; it is nil when the caller chose the directory.
	release     func() error
	credentials *credentials
	// recording is nil when nothing is recorded.
	recording *recording

	etcdPort, peerPort *port

	etcd *Process
	// apiServer is the first one; front is the balancer in front of all API servers, and nil when there is only one.
	apiServer *APIServer
	front     *Balancer

	// mu guards the fields below. It is held while an API server is stopped or started, so that these never overlap.
	mu                sync.Mutex
	apiServers        []*APIServer // all of them
	controllerManager *Process
	proxies           []*Proxy
	balancers         []*Balancer
	stopped           bool
}

// Start builds the missing programs and starts a control plane on free loopback ports. It returns when the API server
// is ready (and, with ControllerManager, when the controllers work). Ctx bounds the start only: the cluster runs
// until Stop, or until this process ends, unless it is detached.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	binaries, err := build(ctx, options.Log, options.Demo)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, binaries: binaries, dir: options.Dir}
	if err := c.start(ctx); err != nil {
		_, stopErr := c.stop()
		return nil, errors.Join(fmt.Errorf("start a control plane: %w", err), stopErr)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.dir == "" {
		c.dir, c.release, err = TemporaryDir(c.options.Log)
	} else {
		c.dir, err = emptyDir(c.dir)
	}
	if err != nil {
		return err
	}
	for _, reserved := range []**port{&c.etcdPort, &c.peerPort} {
		if *reserved, err = reservePort(); err != nil {
			return err
		}
	}
	slow, err := c.reserveAPIServers()
	if err != nil {
		return err
	}
	if !c.options.Detach && !c.options.Unrecorded {
		if c.recording, err = newRecording(); err != nil {
			return err
		}
	}
	if c.credentials, err = newCredentials(c.dir, c.addresses()...); err != nil {
		return err
	}
	if err := c.writeConfiguration(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	if err := c.record(); err != nil {
		return err
	}
	for _, s := range c.apiServers {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	if slow != nil {
		slow.SetDelay(slowness)
	}
	if c.options.ControllerManager {
		if err := c.startControllerManager(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) writeConfiguration() error {
	controllerManager := c.config(c.credentials.controllerManager)
	return errors.Join(
		writeFile(c.dir, "audit-policy.yaml", []byte(c.auditPolicy())),
		writeKubeconfig(c.Kubeconfig(), c.RESTConfig()),
		writeKubeconfig(c.HelmKubeconfig(), c.HelmConfig()),
		writeKubeconfig(c.file("controller-manager.kubeconfig"), controllerManager),
	)
}

func (c *Cluster) run(path, name string, args []string) (*Process, error) {
	p, err := StartProcess(path, name, c.dir, c.options.Detach, args...)
	if err != nil || !c.options.Detach {
		return p, err
	}
	// Before the readiness check, so that Down finds the process even when the start is interrupted.
	if err := recordProcess(c.dir, recordedProcess{Name: name, PID: p.pid}); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// startEtcd starts etcd and returns when it is healthy.
func (c *Cluster) startEtcd(ctx context.Context) (err error) {
	if c.etcd, err = c.run(c.binaries.Etcd, "etcd", c.etcdArgs()); err != nil {
		return err
	}
	client, url, err := c.etcdClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return c.etcd.WaitFor(ctx, "etcd", func(ctx context.Context) error {
		return getOK(ctx, client, url+"/health")
	})
}

// etcdClient returns a client with a certificate for etcd, and the base URL of etcd.
func (c *Cluster) etcdClient() (client *http.Client, url string, err error) {
	config := c.config(c.credentials.etcd)
	config.Host = "https://" + c.etcdPort.address()
	if client, err = rest.HTTPClientFor(config); err != nil {
		return nil, "", fmt.Errorf("create a client for etcd: %w", err)
	}
	return client, config.Host, nil
}

// record begins the recording, if there is to be one.
func (c *Cluster) record() error {
	if c.recording == nil {
		return nil
	}
	client, url, err := c.etcdClient()
	if err != nil {
		return err
	}
	return c.recording.start(client, url)
}

func (c *Cluster) startControllerManager(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("create a client for the API server: %w", err)
	}
	c.controllerManager, err = c.run(c.binaries.ControllerManager, "kube-controller-manager", c.controllerManagerArgs())
	if err != nil {
		return err
	}
	// The default ServiceAccount is the first visible work of the controllers.
	return c.controllerManager.WaitFor(ctx, "the controller manager", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// Stop kills all processes, closes the proxies and, unless Options.Dir was set, removes the files. It may be called
// more than once. If a process ended by itself before, Stop returns an error with the end of its log.
func (c *Cluster) Stop() error {
	crashed, err := c.stop()
	return errors.Join(crashed, err)
}

func (c *Cluster) stop() (crashed, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, nil
	}
	c.stopped = true
	var crashes, errs []error
	errs = append(errs, c.recording.note(map[string]any{"stopped": time.Now()}))
	for _, p := range c.proxies {
		errs = append(errs, p.Close())
	}
	for _, b := range c.balancers {
		errs = append(errs, b.Close())
	}
	processes := []*Process{c.controllerManager}
	for _, s := range c.apiServers {
		processes = append(processes, s.process)
		errs = append(errs, s.port.release())
	}
	end := func(p *Process) {
		if p == nil {
			return
		}
		if p.ended() {
			crashes = append(crashes, p.failure())
		}
		errs = append(errs, p.Kill())
	}
	for _, p := range processes {
		end(p)
	}
	if c.recording != nil {
		errs = append(errs, c.recording.stop())
	}
	end(c.etcd)
	for _, reserved := range []*port{c.etcdPort, c.peerPort} {
		if reserved != nil {
			errs = append(errs, reserved.release())
		}
	}
	if c.release != nil {
		errs = append(errs, c.release())
	}
	return errors.Join(crashes...), errors.Join(errs...)
}

// getOK returns an error unless a GET of the URL answers 200.
func getOK(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("close the response: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", request.URL.Path, response.Status)
	}
	return nil
}
