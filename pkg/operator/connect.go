package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/lasso/pkg/cache"
	"github.com/rancher/lasso/pkg/client"
	"github.com/rancher/wrangler/v3/pkg/generic"
	"github.com/rancher/wrangler/v3/pkg/schemes"
	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/controller"
	"github.com/rancher/helm-locker/pkg/enforce"
	helm "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/version"
	"github.com/rancher/helm-locker/pkg/watch"
)

// requestTimeout bounds every request except watches.
const requestTimeout = 30 * time.Second

// connection holds the clients and the factory behind the HelmRelease controller.
type connection struct {
	controller.Clients
	leases  coordinationv1.CoordinationV1Interface
	factory *helm.Factory
}

// leaseTimeout bounds a request about the lease, so that a leader can try again over another connection before its
// lease expires.
const leaseTimeout = 3 * time.Second

// connect makes the clients. They are client-go's as they are, and share the connections of config's transport.
// There is no client-side rate limit: the API server's own priority and fairness limits requests, and reverts that
// wait in a client help no user.
func connect(config *rest.Config, o ControllerOptions) (*connection, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	config.UserAgent = "helm-locker/" + version.Version
	traceRequests(config, o.Log)
	requests := rest.CopyConfig(config)
	requests.Timeout = requestTimeout
	typed := rest.CopyConfig(requests)
	typed.ContentType = runtime.ContentTypeProtobuf
	typed.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	leases := rest.CopyConfig(typed)
	leases.Timeout = min(leaseTimeout, renewDeadline(o.LeaseDuration)/2)

	c := &connection{}
	var err error
	step := func(what string, f func() error) {
		if err == nil {
			if e := f(); e != nil {
				err = fmt.Errorf("%s client: %w", what, e)
			}
		}
	}
	step("discovery", func() (e error) { c.Discovery, e = discovery.NewDiscoveryClientForConfig(requests); return })
	step("Kubernetes", func() (e error) { c.Kubernetes, e = kubernetes.NewForConfig(typed); return })
	step("lease", func() (e error) { c.leases, e = coordinationv1.NewForConfig(leases); return })
	step("dynamic", func() (e error) { c.Dynamic, e = dynamic.NewForConfig(requests); return })
	step("writing", func() (e error) { c.Accounts, e = enforce.NewAccounts(requests, o.Impersonate); return })
	step("metadata", func() (e error) { c.Metadata, e = watch.NewMetadataClient(requests); return })
	step("watch", func() (e error) { c.WatchDynamic, e = dynamic.NewForConfig(config); return })
	step("object watch", func() (e error) { c.WatchObjects, e = watch.NewClient(config); return })
	step("metadata watch", func() (e error) { c.WatchMetadata, e = watch.NewMetadataClient(config); return })
	step("HelmRelease", func() (e error) { c.factory, e = newFactory(config, o.Namespace); return })
	if err != nil {
		return nil, err
	}
	c.HelmReleases = c.factory.Helm().V1alpha1().HelmRelease()
	if err := c.HelmReleases.Informer().SetTransform(trim); err != nil {
		return nil, fmt.Errorf("cache of HelmReleases: %w", err)
	}
	// A factory starts all its caches and waits for them, and there may be no CustomResourceDefinition of policies.
	policies, err := newFactory(config, o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("HelmReleasePolicy client: %w", err)
	}
	c.Policies = policies.Helm().V1alpha1().HelmReleasePolicy()
	c.StartPolicies = func(ctx context.Context) error { return policies.Start(ctx, 1) }
	if err := c.Policies.Informer().SetTransform(trim); err != nil {
		return nil, fmt.Errorf("cache of HelmReleasePolicies: %w", err)
	}
	return c, nil
}

// listsReadStorage reports what consistent lists cost where the operator runs, and false when the API server does
// not tell its version.
func listsReadStorage(server discovery.ServerVersionInterface, log logrus.FieldLogger) bool {
	version, err := server.ServerVersion()
	if err != nil {
		log.Warnf("cannot read the version of the API server, which is taken for a new one: %v", err)
		return false
	}
	old := proof.ListsReadStorage(version)
	if old {
		log.Infof(
			"Kubernetes %s reads every Secret of a namespace for a list, so checks are made by writes to a Secret of "+
				"the operator's own", version.GitVersion,
		)
	}
	return old
}

// trim takes managedFields out of an object before it is cached. They are a large part of one, no code reads them, and
// what is written are patches, which leave them to the API server.
func trim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// newFactory returns the factory of the HelmRelease cache of one namespace.
func newFactory(config *rest.Config, namespace string) (*helm.Factory, error) {
	clients, err := client.NewSharedClientFactory(config, &client.SharedClientFactoryOptions{Scheme: schemes.All})
	if err != nil {
		return nil, err
	}
	caches := cache.NewSharedCachedFactory(uncheckedFactory{clients}, &cache.SharedCacheFactoryOptions{
		DefaultNamespace: namespace, DefaultTweakList: watch.Limit,
	})
	return helm.NewFactoryFromConfigWithOptions(config,
		&helm.FactoryOptions{Namespace: namespace, SharedCacheFactory: caches})
}

// uncheckedFactory is a client factory that takes the API server for healthy without asking it. Lasso asks before it
// starts a cache, again and again until the answer is yes, also when its context has ended long ago: an operator that
// is told to stop while it starts would hang. The cache's own list is retried anyway.
type uncheckedFactory struct{ client.SharedClientFactory }

func (uncheckedFactory) IsHealthy(context.Context) bool { return true }

// handlersUntil is a controller that keeps handlers registered until ctx ends, which is after the work. Lasso takes
// handlers out of a list that its worker may be going through, when the context ends with which they were registered.
type handlersUntil[T generic.RuntimeMetaObject, L runtime.Object] struct {
	generic.ControllerInterface[T, L]
	ctx context.Context
}

func (l handlersUntil[T, L]) OnChange(_ context.Context, name string, handler generic.ObjectHandler[T]) {
	l.ControllerInterface.OnChange(l.ctx, name, handler)
}
