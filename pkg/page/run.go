package page

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/follow"
	helm "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/version"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// RunOptions configure the process of the page. Options that an operator has too need the operator's values.
type RunOptions struct {
	// ClientConfig is for the API server. Required. Its bearer token authenticates the process to operators, too.
	ClientConfig clientcmd.ClientConfig
	// Namespace is the namespace of the HelmReleases; required.
	Namespace string
	// ControllerName and ShardSelector select the operators for the live events. ControllerName is required. Without
	// ShardSelector all operators of the name are selected.
	ControllerName, ShardSelector string
	// ReleaseStorage is where Helm keeps release records: secret (when empty), configmap, or secret,configmap.
	ReleaseStorage string
	// Impersonate and DefaultServiceAccount are as those of an operator. An object that the account of a release may
	// not change is not shown as its drift.
	Impersonate           bool
	DefaultServiceAccount string

	// Address is the listen address, for example "127.0.0.1:8082"; required. Without Auth, every client with access to
	// it reads the states of releases, and none compares.
	Address string
	// Auth requires a bearer token of a user with the right to list HelmReleases. The page compares releases with the
	// cluster by that token.
	Auth bool
	// Hosts are further host names for requests, beside addresses, localhost and names inside of the cluster.
	Hosts []string

	// MetricsAddress, HealthAddress, MetricsHosts, MetricsAuth and PprofEnabled are as those of an operator.
	MetricsAddress, HealthAddress string
	MetricsHosts                  []string
	MetricsAuth, PprofEnabled     bool
	// Log receives all log lines; text on standard error at level info when nil.
	Log *logrus.Logger
	// Clock is for the time and for timers; the real one when nil.
	Clock clock.WithTicker

	// shard is parsed from ShardSelector, storages from ReleaseStorage.
	shard    labels.Selector
	storages []release.Storage
}

func (o RunOptions) complete() (_ RunOptions, err error) {
	if o.ClientConfig == nil || o.Namespace == "" || o.ControllerName == "" {
		return o, errors.New("the page needs ClientConfig, Namespace and ControllerName")
	}
	if !process.Asked(o.Address) {
		return o, errors.New("the page needs an address: set Address (--page-address), for example 127.0.0.1:8082")
	}
	if o.shard, _, err = process.ShardOf(o.ControllerName, o.ShardSelector); err != nil {
		return o, err
	}
	if o.storages, err = release.ParseStorages(o.ReleaseStorage); err != nil {
		return o, err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = logrus.New()
	}
	return o, nil
}

// server is the process.
type server struct {
	RunOptions
	page     *Page
	kube     kubernetes.Interface
	metrics  *metrics.Process
	factory  *helm.Factory
	follower *follow.Follower
	ready    chan struct{} // closed once the HelmReleases are known
}

// Run serves the page until ctx ends, and returns nil then. It returns an error when it cannot start.
func Run(ctx context.Context, options RunOptions) error {
	o, err := options.complete()
	if err != nil {
		return err
	}
	handling, ended := context.WithCancel(context.WithoutCancel(ctx))
	defer ended()
	s, err := newServer(handling, o)
	if err != nil {
		return err
	}
	o.Log.Infof("helm-locker %s page, controller name %s", version.String(), o.ControllerName)
	if err := s.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	o.Log.Info("stopped")
	return nil
}

// newServer returns the process. The handlers of its caches stay until ctx ends.
func newServer(ctx context.Context, o RunOptions) (*server, error) {
	m, _ := metrics.NewProcess()
	s := &server{RunOptions: o, metrics: m, ready: make(chan struct{})}
	direct, err := o.ClientConfig.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	config, err := process.Connect(o.ClientConfig, s.metrics.RoundTripper, o.Log)
	if err != nil {
		return nil, err
	}
	if s.kube, err = kubernetes.NewForConfig(process.Typed(process.Requests(config))); err != nil {
		return nil, fmt.Errorf("Kubernetes client: %w", err)
	}
	if s.factory, err = process.NewFactory(config, o.Namespace); err != nil {
		return nil, fmt.Errorf("client of HelmReleases: %w", err)
	}
	releases, err := process.Cached[*v1alpha1.HelmRelease, *v1alpha1.HelmReleaseList](ctx,
		s.factory.Helm().V1alpha1().HelmRelease())
	if err != nil {
		return nil, err
	}
	s.page = New(Options{
		Address: o.Address, Hosts: o.Hosts, Namespace: o.Namespace, ControllerName: o.ControllerName,
		Releases: releases.Cache(), Cluster: clusters(direct, o.storages), Viewers: s.viewers(o.Auth), Lease: s.lease,
		Accounts: accounts.Policy{Impersonate: o.Impersonate, DefaultServiceAccount: o.DefaultServiceAccount},
		Ready:    s.ready, Clock: o.Clock, Log: o.Log,
	})
	releases.OnChange(ctx, "helm-locker-page",
		func(key string, hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
			s.page.Changed(key)
			return hr, nil
		})
	s.follower = follow.New(follow.Options{
		Config: direct, Namespace: o.Namespace, Controller: o.ControllerName, Shard: o.shard, Clock: o.Clock,
		Log:       o.Log,
		Handle:    func(_ string, _ message.Position, m *message.Message) { s.page.Happened(m) },
		Connected: func(lease string, _ message.Position) { s.page.Connected(lease) },
	})
	return s, nil
}

// clusters returns a function that connects the user of a bearer token. The connection carries no credentials of the
// process itself.
func clusters(own *rest.Config, storages []release.Storage) func(token string) (*inspect.Cluster, error) {
	return func(token string) (*inspect.Cluster, error) {
		if token == "" {
			return nil, errors.New("the viewer has no token to read the cluster with")
		}
		config := rest.AnonymousClientConfig(own)
		config.BearerToken = token
		return inspect.Connect(config, nil, storages...)
	}
}

// viewers returns a reviewer of viewers if asked for, and nil otherwise.
func (s *server) viewers(asked bool) *viewer.Reviewer {
	if !asked {
		return nil
	}
	return viewer.New(s.kube, s.Clock, s.Log)
}

func (s *server) lease(ctx context.Context, name string) (coordinationv1.LeaseSpec, error) {
	lease, err := s.kube.CoordinationV1().Leases(s.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return coordinationv1.LeaseSpec{}, err
	}
	return lease.Spec, nil
}

// run runs all parts until ctx ends or one of them fails.
func (s *server) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.page.Run(ctx) })
	group.Go(func() error { return s.follower.Run(ctx) })
	group.Go(func() error {
		if err := process.Fill(ctx, s.factory, "HelmReleases"); err != nil || ctx.Err() != nil {
			return err
		}
		close(s.ready)
		return nil
	})
	group.Go(func() error {
		return process.Listeners{
			MetricsAddress: s.MetricsAddress, HealthAddress: s.HealthAddress, Profiles: s.PprofEnabled, Log: s.Log,
			Metrics: process.Guarded(s.metrics.Handler(), s.MetricsHosts, s.viewers(s.MetricsAuth)), Ready: s.notReady,
		}.Run(ctx)
	})
	return group.Wait()
}

// notReady returns why the page does not show everything yet.
func (s *server) notReady() error {
	select {
	case <-s.ready:
		return nil
	default:
		return errors.New("still reading the HelmReleases")
	}
}
