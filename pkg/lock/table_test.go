package lock

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func lockOf(key string, age time.Duration, names ...string) *Lock {
	return New(&Lock{Key: key, Since: epoch.Add(-age)}, objects(names...))
}

func TestTheOlderHelmReleaseKeepsAnObject(t *testing.T) {
	for name, first := range map[string]int{"whoever comes first": 0, "also when it comes second": 1} {
		t.Run(name, func(t *testing.T) {
			old, young := lockOf("ns/b-old", time.Hour, "a", "shared"), lockOf("ns/a-young", time.Minute, "b", "shared")
			order := []*Lock{old, young}
			table := NewTable()
			table.Put(order[first])
			conflicts, displaced := table.Put(order[1-first])
			check.Equal(t, table.Owner(configMaps, id("shared")), old, "the younger one owns it")
			if first == 0 && (len(conflicts) != 1 || conflicts[0].Owner != "ns/b-old" || len(displaced) != 0) {
				t.Errorf("conflicts %v, displaced %v", conflicts, displaced)
			}
			if first == 1 && (len(conflicts) != 0 || len(displaced) != 1 || displaced[0] != "ns/a-young") {
				t.Errorf("conflicts %v, displaced %v", conflicts, displaced)
			}
			check.That(t, table.Owner(configMaps, id("a")) == old && table.Owner(configMaps, id("b")) == young,
				"objects of their own are lost")
			sum := young.Summarize(epoch)
			check.That(t, sum.Tracked == 1, "the younger one tracks %d objects", sum.Tracked)
		})
	}
}

func TestOfTwoCreatedTogetherTheNameDecides(t *testing.T) {
	table := NewTable()
	table.Put(lockOf("ns/b", 0, "shared"))
	a := lockOf("ns/a", 0, "shared")
	conflicts, _ := table.Put(a)
	check.That(t, len(conflicts) == 0 && table.Owner(configMaps, id("shared")) == a,
		"the answer depends on who came first")
}

func TestPuttingALockAgainClosesTheOneBefore(t *testing.T) {
	table := NewTable()
	before, after := lockOf("ns/a", 0, "x", "y"), lockOf("ns/a", 0, "x")
	table.Put(before)
	table.Put(after)
	check.That(t, before.Closed() && !after.Closed() && table.Get("ns/a") == after && len(table.Locks()) == 1,
		"the lock before is still there")
	check.That(t, table.Owner(configMaps, id("y")) == nil, "an object that is declared no more is still owned")
}

func TestDroppingALockFreesItsObjectsOnly(t *testing.T) {
	table := NewTable()
	table.Put(lockOf("ns/a", time.Hour, "x"))
	table.Put(lockOf("ns/b", 0, "y"))
	check.That(t, table.Drop("ns/a") && !table.Drop("ns/a"), "drop does not say whether there was a lock")
	check.That(t, table.Owner(configMaps, id("x")) == nil && table.Owner(configMaps, id("y")) != nil,
		"the wrong object is free")
}

func TestAnObjectIsOwnedAtTheVersionThatItsManifestDeclares(t *testing.T) {
	table := NewTable()
	table.Put(lockOf("ns/a", 0, "x"))
	check.That(t, table.Owner(schema.GroupVersionKind{Version: "v2", Kind: "ConfigMap"}, id("x")) == nil,
		"an event of another version is taken for it")
}
