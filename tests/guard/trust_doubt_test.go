package guard

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// While Helm works on an earlier revision, objects that are as declared prove nothing. The end of that work ends the
// doubt.
func TestI14_ADoubtEndsWithItsCause(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed)
	f.front.to("")
	f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", kit.ConfigMap("app", "declared")))
	label := func(status string) {
		f.Patch(kit.Secrets, "sh.helm.release.v1.app.v1", fmt.Sprintf(`{"metadata":{"labels":{"status":%q}}}`, status))
	}
	label("pending-upgrade")
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("app", "declared")})
	f.CreateHelmRelease("app")
	f.doubted("app", 2, "nothing shows that the writer of revision 2")
	label("superseded")
	f.WaitReady("app", 2)
}

// A user with the rights ends an interrupted upgrade by the deletion of its record. The deletion by a user without
// them ends the trust in the earlier revision, whatever the record had. The earlier revision would undo a part
// of the upgrade.
func TestI14_ADeletedUpgradeReturnsToTheTrustedRevision(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed)
	f.inForce()
	declared := kit.ConfigMap("app", "declared") + f.clusterRole()
	pending := func(by *kit.Env, manifest string) {
		by.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade", Manifest: manifest})
	}
	interrupted := func() {
		pending(f.Env, kit.ConfigMap("app", "upgraded"))
		f.Patch(kit.ConfigMaps, "app", `{"data":{"key":"upgraded"}}`)
	}
	for name, before := range map[string]func(){
		"alone":                           func() {},
		"after storing what was deployed": func() { pending(f.mallory, declared) },
	} {
		f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", declared))
		f.Lock("app")
		interrupted()
		f.deleteRecord(f.Env, "app", 2)
		f.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
		f.WaitReady("app", 1)

		interrupted()
		before()
		f.deleteRecord(f.mallory, "app", 2)
		f.doubted("app", 1, "nothing shows that the writer of revision 1")
		got := f.Get(kit.ConfigMaps, "app")
		check.That(t, strings.Contains(fmt.Sprint(got.Object["data"]), "upgraded"), "%s: the upgrade was undone: %v", name,
			got.Object["data"])
		f.DeleteHelmRelease("app")
		f.Helm(f.Cluster.Helm4(), "uninstall", "app")
	}
}

// Managed fields excuse a difference to a record from before the lock, if none but Helm wrote to the object. Still the
// object is not as declared: its next revert would write what the record declares.
func TestI14_AnExcusedDifferenceIsNotAsDeclared(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed)
	declared := kit.ConfigMap("app", "declared") + f.clusterRole()
	f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", declared))
	role, err := f.Dynamic.Resource(rbacv1.SchemeGroupVersion.WithResource("clusterroles")).Get(f.Ctx, "reader-of-"+f.Apps, metav1.GetOptions{})
	check.NoError(t, err)
	f.NextSecond(role)
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: strings.Replace(declared, "nodes", "secrets", 1)})
	f.CreateHelmRelease("app")
	f.doubted("app", 2, "nothing shows that the writer of revision 2")
}

// The metadata of --objectset-metadata is never Helm's, so objects without it are as declared.
func TestI14_MissingObjectSetMetadataIsNoDoubt(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed, func(o *operator.ControllerOptions) { o.ObjectSetMetadata = true })
	check.NoError(t, f.Cluster.Except("I3", f.Apps, "the operator writes ObjectSet metadata"))
	f.front.to("")
	f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", kit.ConfigMap("app", "declared")))
	f.Lock("app")
	f.Until("the metadata is written", func() (any, bool) {
		labels := f.Get(kit.ConfigMaps, "app").GetLabels()
		return labels, labels[classic.Hash] != ""
	})
}
