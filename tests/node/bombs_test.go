//go:build linux

package node

import (
	"fmt"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/bombs"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The costliest records and objects of one namespace, at the chart's own memory limit: the kernel kills nothing, and
// the releases of another namespace are restored meanwhile.
func TestNode_BombsAtTheLimitOfTheChart(t *testing.T) {
	const releases = 10
	f := newFixture(t)
	attack := &bombs.Attack{Env: f.Env}
	attack.Write()
	defer attack.Erase()
	victim := *f.Env
	victim.Apps = f.Namespace(f.Apps + "-victim")
	for i := range releases {
		name := fmt.Sprintf("victim-%d", i)
		victim.Forge(kit.ForgedRecord{Name: name, Manifest: kit.ConfigMap(name, declared)})
	}
	f.install(shared.Cluster.Helm4(), "trust: {records: Any}") // Helm cannot be made to write such records
	for i := range releases {
		victim.CreateHelmRelease(fmt.Sprintf("victim-%d", i))
	}
	attack.Lock()
	for i := range releases {
		victim.WaitReady(fmt.Sprintf("victim-%d", i), 1)
	}
	attack.Survived(func() {
		for i := range releases {
			victim.Patch(kit.ConfigMaps, fmt.Sprintf("victim-%d", i), `{"data":{"key":"tampered"}}`)
		}
		for i := range releases {
			victim.WaitField(kit.ConfigMaps, fmt.Sprintf("victim-%d", i), "data.key", declared)
		}
	})
	f.expectConfined("helm-locker", "helm-locker-policies")
}
