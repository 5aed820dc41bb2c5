package lock

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
			if table.Owner(configMaps, id("shared")) != old {
				t.Error("the younger one owns it")
			}
			if first == 0 && (len(conflicts) != 1 || conflicts[0].Owner != "ns/b-old" || len(displaced) != 0) {
				t.Errorf("conflicts %v, displaced %v", conflicts, displaced)
			}
			if first == 1 && (len(conflicts) != 0 || len(displaced) != 1 || displaced[0] != "ns/a-young") {
				t.Errorf("conflicts %v, displaced %v", conflicts, displaced)
			}
			if table.Owner(configMaps, id("a")) != old || table.Owner(configMaps, id("b")) != young {
				t.Error("objects of their own are lost")
			}
			if sum := young.Summarize(epoch); sum.Tracked != 1 {
				t.Errorf("the younger one tracks %d objects", sum.Tracked)
			}
		})
	}
}

func TestOfTwoCreatedTogetherTheNameDecides(t *testing.T) {
	table := NewTable()
	table.Put(lockOf("ns/b", 0, "shared"))
	a := lockOf("ns/a", 0, "shared")
	if conflicts, _ := table.Put(a); len(conflicts) != 0 || table.Owner(configMaps, id("shared")) != a {
		t.Error("the answer depends on who came first")
	}
}

func TestPuttingALockAgainClosesTheOneBefore(t *testing.T) {
	table := NewTable()
	before, after := lockOf("ns/a", 0, "x", "y"), lockOf("ns/a", 0, "x")
	table.Put(before)
	table.Put(after)
	if !before.Closed() || after.Closed() || table.Get("ns/a") != after || len(table.Locks()) != 1 {
		t.Error("the lock before is still there")
	}
	if table.Owner(configMaps, id("y")) != nil {
		t.Error("an object that is declared no more is still owned")
	}
}

func TestDroppingALockFreesItsObjectsOnly(t *testing.T) {
	table := NewTable()
	table.Put(lockOf("ns/a", time.Hour, "x"))
	table.Put(lockOf("ns/b", 0, "y"))
	if !table.Drop("ns/a") || table.Drop("ns/a") {
		t.Error("drop does not say whether there was a lock")
	}
	if table.Owner(configMaps, id("x")) != nil || table.Owner(configMaps, id("y")) == nil {
		t.Error("the wrong object is free")
	}
}

func TestAnObjectIsOwnedAtTheVersionThatItsManifestDeclares(t *testing.T) {
	table := NewTable()
	table.Put(lockOf("ns/a", 0, "x"))
	if table.Owner(schema.GroupVersionKind{Version: "v2", Kind: "ConfigMap"}, id("x")) != nil {
		t.Error("an event of another version is taken for it")
	}
}
