//go:build linux

package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	lib "github.com/rancher/helm-locker/tests/lib/node"
)

// The API server gets another address, and Pods do not reach the old one. The operator comes to it by the Service
// kubernetes: it goes on with its watches, reverts, and is asked as the guard by the API server at the new address.
func TestNode_TheAddressOfTheAPIServerChanges(t *testing.T) {
	f := newFixture(t)
	f.guarded()
	f.denies()
	leader := f.leader()

	back, err := shared.MoveAPIServer(f.Ctx)
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, back(context.WithoutCancel(f.Ctx))) })
	begun := time.Now()
	f.within(patience, "the Service has the new address alone", func() error {
		found := f.apiServers()
		if len(found) != 1 || found[0] == lib.Address {
			return fmt.Errorf("it has %v", found)
		}
		return nil
	})
	f.denies()
	f.upgradeTo(shared.Cluster.Helm4(), "upgraded")
	f.WaitReady("shop", 2)
	f.PatchHelmRelease("shop", `{"spec":{"guard":"Off"}}`)
	f.within(patience, "a change is admitted", f.tamper)
	f.WaitField(kit.ConfigMaps, "shop", "data.key", "upgraded")
	// An operator that cannot renew its lease for ten seconds ends; another process of its Pod leads then.
	count, _ := f.restarts(leader.Name)
	t.Logf("the lock works %s after the move, with %d restarts of the operator", time.Since(begun).Round(time.Second),
		count)
}

// apiServers returns the addresses of the Service kubernetes.
func (f *fixture) apiServers() []string {
	f.Helper()
	var found []string
	slices, err := f.Kube.DiscoveryV1().EndpointSlices("default").List(f.Ctx,
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=kubernetes"})
	check.NoError(f, err)
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			found = append(found, endpoint.Addresses...)
		}
	}
	return found
}
