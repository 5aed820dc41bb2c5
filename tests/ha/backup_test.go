package ha

import (
	"fmt"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Etcd is restored from a backup while the operator runs. Resource versions begin again at lower ones, and a watch at a
// version from before would be silent until they have caught up.
func TestHostile_EtcdIsRestoredFromABackup(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{Unrecorded: true})
	e := kit.New(t, c)
	kit.StartOperator(e, c.RESTConfig(), e.Operator)
	locked(e, "app")
	restore, err := c.BackUpEtcd(t.Context())
	check.NoError(t, err)
	reverts(e, "app", "tampered after the backup")
	for n := range 300 {
		e.Patch(kit.ConfigMaps, "app", fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n))
	}
	reverts(e, "app", "tampered before the restoration")
	before := e.Get(kit.ConfigMaps, "app").GetResourceVersion()
	check.NoError(t, restore(t.Context()))
	t.Logf("version %s became %s", before, e.Get(kit.ConfigMaps, "app").GetResourceVersion())
	reverts(e, "app", "tampered after the restoration")
	e.Delete(kit.ConfigMaps, "app")
	e.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
}
