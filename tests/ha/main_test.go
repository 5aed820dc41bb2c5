// Package ha tests one operator and several under failures of their dependencies: leaders that end, API servers that
// are killed, hang, forget or refuse, their proxies, expiring tokens, replaced definitions, jumping clocks.
package ha

import (
	"fmt"
	"os"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) {
	// As the chart sets them; client-go reads them when it makes a transport.
	for name, value := range map[string]string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "5", "HTTP2_PING_TIMEOUT_SECONDS": "3"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	kit.Main(m, cluster.Options{})
}

// elected makes operators compete for a lease of some duration. A lease that must not expire in a test lasts longer
// than the test.
func elected(lease time.Duration) func(*operator.ControllerOptions) {
	return func(o *operator.ControllerOptions) { o.LeaderElection, o.LeaseDuration = true, lease }
}

const (
	shortLease = 2 * time.Second
	longLease  = 5 * time.Minute
)

// replica is one of several operators, with a proxy of its own.
type replica struct {
	proxy *cluster.Proxy
	*kit.Operator
}

func startReplica(e *kit.Env, options ...func(*operator.ControllerOptions)) *replica {
	e.Helper()
	proxy := e.NewProxy()
	return &replica{proxy: proxy, Operator: kit.StartOperator(e, proxy.RESTConfig(), e.Operator, options...)}
}

// locked makes a release of one ConfigMap and waits until it is locked.
func locked(e *kit.Env, name string) {
	e.Helper()
	e.Forged(name, kit.ConfigMap(name, "declared"))
}

// reverts tampers with a ConfigMap and waits until it is restored.
func reverts(e *kit.Env, name, how string) {
	e.Helper()
	e.Patch(kit.ConfigMaps, name, fmt.Sprintf(`{"data":{"key":%q}}`, how))
	e.WaitField(kit.ConfigMaps, name, "data.key", "declared")
}

// lease returns a lease of the operators as it is now.
func lease(e *kit.Env, name string) *coordinationv1.Lease {
	e.Helper()
	l, err := e.Kube.CoordinationV1().Leases(e.Operator).Get(e.Ctx, name, metav1.GetOptions{})
	check.NoError(e, err)
	return l
}

func holder(e *kit.Env, name string) string {
	e.Helper()
	if id := lease(e, name).Spec.HolderIdentity; id != nil {
		return *id
	}
	return ""
}

// leader returns the index of the only replica with answered writes to objects since the proxies were reset.
func leader(e *kit.Env, replicas []*replica) int {
	e.Helper()
	found := -1
	for i, r := range replicas {
		if r != nil && len(kit.ObjectWrites(r.proxy)) > 0 {
			check.Must(e, found < 0, "replicas %d and %d both wrote", found, i)
			found = i
		}
	}
	check.Must(e, found >= 0, "no replica wrote")
	return found
}
