package operator

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/controller"
	"github.com/rancher/helm-locker/pkg/enforce"
	helm "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/watch"
)

// connection holds the clients and the factory behind the HelmRelease controller.
type connection struct {
	controller.Clients
	leases  coordinationv1.CoordinationV1Interface
	factory *helm.Factory
}

// connect makes the clients of a configuration of process.Connect. The handlers of the caches stay until ctx ends.
func connect(ctx context.Context, config *rest.Config, o ControllerOptions) (*connection, error) {
	requests := process.Requests(config)
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
	step("Kubernetes", func() (e error) { c.Kubernetes, e = kubernetes.NewForConfig(process.Typed(requests)); return })
	step("lease", func() (e error) { c.leases, e = process.Leases(config, o.LeaseDuration); return })
	step("dynamic", func() (e error) { c.Dynamic, e = dynamic.NewForConfig(requests); return })
	step("writing", func() (e error) { c.Accounts, e = enforce.NewAccounts(requests, o.Impersonate); return })
	step("metadata", func() (e error) { c.Metadata, e = watch.NewMetadataClient(requests); return })
	step("watch", func() (e error) { c.WatchDynamic, e = dynamic.NewForConfig(config); return })
	step("object watch", func() (e error) { c.WatchObjects, e = watch.NewClient(config); return })
	step("metadata watch", func() (e error) { c.WatchMetadata, e = watch.NewMetadataClient(config); return })
	step("HelmRelease", func() (e error) { c.factory, e = process.NewFactory(config, o.Namespace); return })
	step("HelmRelease", func() (e error) {
		c.HelmReleases, e = process.Cached(ctx, c.factory.Helm().V1alpha1().HelmRelease())
		return
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// listsReadStorage reports whether consistent lists read etcd on this API server, and logs the consequence. It returns
// false when the API server does not return its version.
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
