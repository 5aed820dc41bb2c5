//go:build linux

package node

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	lib "github.com/rancher/helm-locker/tests/lib/node"
)

// soak is short in CI, and an hour before a release: make test-node NODE="-run InASoak -timeout 90m -args -soak 1h".
var soak = flag.Duration("soak", time.Second, "how long TestNode_AWorkloadInASoak goes on at least")

// Two locked workloads live as in a cluster: Helm upgrades them, their autoscaler scales by real metrics, Pods are
// deleted, killed, evicted and scheduled again, the kubelet and the operator are restarted. None of it is drift.
func TestNode_AWorkloadInASoak(t *testing.T) {
	f := newFixture(t)
	f.registerMetrics()
	three, four := shared.Cluster.Helm3(), shared.Cluster.Helm4()
	f.install(four, "replicas: 2")
	f.volume("data-data-0", f.Apps)
	scaled, err := cluster.Chart(f.TempDir(), "scaled", "0.1.0", map[string]string{
		"all.yaml": strings.NewReplacer("name: web", "name: scaled", "app: web", "app: scaled").Replace(confined(autoscaled)),
	}, "")
	check.NoError(t, err)
	upgradeScaled := func(args string) {
		f.Helm(three, "upgrade", "--install", "scaled", scaled, "--set-json", "args="+args, "--wait", "--timeout", "3m")
	}
	f.upgradeWorkload(four, 1)
	upgradeScaled("[]")
	f.Lock("work")
	f.Lock("scaled")

	rounds, begun := 0, time.Now()
	for rounds == 0 || time.Since(begun) < *soak && !t.Failed() {
		rounds++
		f.upgradeWorkload(four, 1+rounds%2)
		upgradeScaled([]string{"[]", `["burn"]`}[rounds%2])
		f.disturb()
		f.Kubectl("drain", lib.Name, "--pod-selector=app=web", "--ignore-daemonsets", "--timeout=2m")
		f.uncordon()
		f.Kubectl("rollout", "status", "deployment/web", "--timeout=3m")
		f.Kubectl("-n", f.Operator, "rollout", "restart", "deployment/helm-locker")
		f.Kubectl("-n", f.Operator, "rollout", "status", "deployment/helm-locker", "--timeout=3m")
		f.WaitReady("work", 1+rounds)
		f.WaitReady("scaled", 1+rounds)
		f.expectNoDrift("work")
		f.expectNoDrift("scaled")
	}
	t.Logf("%d rounds in %s without false drift", rounds, time.Since(begun).Round(time.Second))
	f.Kubectl("scale", "deployment/web", "--replicas=0")
	f.WaitField(kit.Deployments, "web", "spec.replicas", int64(1+rounds%2))
}
