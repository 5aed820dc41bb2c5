package operator

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// newPage returns the page that is asked for, which hears of every HelmRelease from now on; nil when none is asked
// for. It must be called before the HelmRelease cache is started.
func newPage(
	ctx context.Context, config *rest.Config, conn *connection, o ControllerOptions, ready <-chan struct{},
) (*page.Page, error) {
	if o.PageAddress == "" || o.PageAddress == "0" {
		return nil, nil
	}
	cluster, err := inspect.Connect(config, conn.Accounts, o.storages...)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var viewers *viewer.Reviewer
	if o.PageAuth {
		viewers = viewer.New(conn.Kubernetes, o.Clock, o.Log)
	}
	p := page.New(page.Options{
		Address: o.PageAddress, Hosts: o.PageHosts, Namespace: o.Namespace, ControllerName: o.ControllerName,
		Releases: conn.HelmReleases.Cache(), Cluster: cluster, Ready: ready, Clock: o.Clock, Log: o.Log,
		Accounts: o.accounts(), MayPatch: conn.Accounts.MayPatch, Viewers: viewers,
		LeaseName: o.lease,
		Lease: func(ctx context.Context, name string) (coordinationv1.LeaseSpec, error) {
			lease, err := conn.leases.Leases(o.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return coordinationv1.LeaseSpec{}, err
			}
			return lease.Spec, nil
		},
	})
	conn.HelmReleases.OnChange(ctx, "helm-locker-page",
		func(key string, hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
			p.Changed(key)
			return hr, nil
		})
	return p, nil
}
