package guard

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// The Services of the chart with two replicas: for all of them, and for the leader.
const (
	allReplicas = "guard"
	leaderOnly  = "guard-leader"
)

// ownAddress returns an address of this machine that an EndpointSlice may have: a loopback address is none.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	check.NoError(t, err)
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has loopback addresses only")
	return ""
}

// The API server asks the leader alone while no release denies changes, whichever replicas the Service of all selects:
// each revert names its user, also after a change of leaders. With a release that denies, it asks all replicas.
func TestI13_TheLeaderIsAskedWhileNoReleaseDenies(t *testing.T) {
	t.Parallel()
	f := &fixture{Fixture: &kit.Fixture{Env: kit.New(t, kit.Shared)}, front: newFront(t)}
	f.Proxy = f.NewProxy()
	address := ownAddress(t)
	f.service(allReplicas)
	f.service(leaderOnly)

	f.replica(address)
	leader := f.Running
	f.guarded(kit.Shared.Helm4(), "shop", shop, func(hr *v1alpha1.HelmRelease) { hr.Spec.Guard = v1alpha1.GuardObserve })
	standby := f.replica(address)
	f.selects(allReplicas, address, standby)
	check.Must(t, !strings.Contains(f.Running.Log(), "msg=leading"), "both replicas lead")
	f.namesEach("the leader is asked", "first")

	f.PatchHelmRelease("shop", `{"spec":{"guard":"Deny"}}`)
	f.Until("all replicas are to be asked", func() (any, bool) {
		service := f.registration().Webhooks[0].ClientConfig.Service.Name
		return service, service == allReplicas
	})
	f.Until("the standby refuses", func() (any, bool) {
		_, said := f.as("second", "patch", "configmap", "settings", "-p", changed)
		f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		return said, strings.Contains(said, "was refused")
	})

	f.PatchHelmRelease("shop", `{"spec":{"guard":"Warn"}}`)
	f.namesEach("the leader is asked again", "third")
	leader.Stop()
	f.namesEach("the next leader is asked", "fourth")
	slice, err := f.Kube.DiscoveryV1().EndpointSlices(f.Operator).Get(f.Ctx, leaderOnly, metav1.GetOptions{})
	check.NoError(t, err)
	check.That(t, len(slice.OwnerReferences) == 1 && *slice.Ports[0].Port == standby, "the EndpointSlice is %+v", slice)
}

// replica starts an operator with a guard at an address, and returns the port of the guard.
func (f *fixture) replica(address string) int32 {
	f.Helper()
	port, err := process.FreePort()
	check.NoError(f, err)
	f.start(func(o *operator.ControllerOptions) {
		o.LeaderElection = true
		o.Guard = operator.GuardOptions{Address: net.JoinHostPort(address, strconv.Itoa(port)), Service: allReplicas,
			LeaderService: leaderOnly, PodIP: address}
	})
	f.WaitLog(f.Running, fmt.Sprintf("guard on %s:%d", address, port))
	return int32(port)
}

// service makes a Service without a selector.
func (f *fixture) service(name string) {
	f.Helper()
	_, err := f.Kube.CoreV1().Services(f.Operator).Create(f.Ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "guard", Port: 443}}},
	}, metav1.CreateOptions{})
	check.NoError(f, err)
}

// selects makes a replica the only endpoint of a Service.
func (f *fixture) selects(service, address string, port int32) {
	f.Helper()
	_, err := f.Kube.DiscoveryV1().EndpointSlices(f.Operator).Create(f.Ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("guard"), Port: ptr.To(port)}},
	}, metav1.CreateOptions{})
	check.NoError(f, err)
}

// namesEach waits until the revert of a user's change names the user, and checks that the next five do.
func (f *fixture) namesEach(what, user string) {
	f.Helper()
	f.Until(what, func() (any, bool) {
		f.as(user, "patch", "configmap", "settings", "-p", changed)
		f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		r, found := f.newest()
		return r, found && r.User == user
	})
	for i := range 5 {
		next := fmt.Sprintf("%s-%d", user, i)
		f.as(next, "patch", "configmap", "settings", "-p", changed)
		f.names("the change", next)
	}
}
