package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// claim is a patch that gives an object to another release, and changes it.
func claim(namespace, name string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{"meta.helm.sh/release-name":%q,"meta.helm.sh/release-namespace":%q}},`+
		`"data":{"key":"tampered"}}`, name, namespace)
}

// The release named by an object proves nothing: only a readable record that declares the object does, and only while
// Helm is at work.
func TestHostile_ClaimsProveNothing(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	settings, pending := kit.ConfigMap("settings", "inherited"), string(release.StatusPendingInstall)
	f.Forge(kit.ForgedRecord{Name: "stuck", Status: pending, Manifest: kit.ConfigMap("another", "inherited")})
	f.Forge(kit.ForgedRecord{Name: "idle", Manifest: settings})
	f.Forge(kit.ForgedRecord{Name: "broken", Status: pending, Payload: []byte("no record")})
	f.Forge(kit.ForgedRecord{Name: "empty", Status: pending, NoData: true})
	f.Forge(kit.ForgedRecord{Name: "copied", Status: pending, Manifest: settings, Namespace: "default"})
	f.Forge(kit.ForgedRecord{Name: "odd", Status: pending, Manifest: settings, Labels: map[string]string{"version": "9"}})
	f.Forge(kit.ForgedRecord{Name: "gone", Status: string(release.StatusUninstalled), Manifest: settings})
	refused := func(namespace, name string) {
		f.refused(kit.ConfigMaps, "settings", "metadata.annotations[meta.helm.sh/release-name]", "patch", "configmap",
			"settings", "--type=merge", "-p", claim(namespace, name))
	}
	for _, name := range []string{"none", "stuck", "idle", "broken", "empty", "copied", "odd", "gone", ""} {
		refused(f.Apps, name)
	}
	for _, namespace := range []string{"nowhere", ""} {
		refused(namespace, "stuck")
	}
	// With a record that declares the object while Helm is at work, it is Helm.
	f.Forge(kit.ForgedRecord{Name: "heir", Status: pending, Manifest: settings})
	f.passes("patch", "configmap", "settings", "--type=merge", "-p", claim(f.Apps, "heir"))
}

// Helm deletes transferred objects and dropped objects, of the locked release and of others.
func TestI13_HandedOver(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		f := newFixture(t)
		both := shop + "\n---\n" + kit.ConfigMap("shared", "old")
		f.Helm(h, "install", "old", f.Chart("old", kit.ConfigMap("shared", "old")))
		f.Helm(h, "install", "shop", f.Chart("shop", both), "--take-ownership")
		f.guard("shop")
		f.inForce(kit.ConfigMaps, "settings")
		f.refused(kit.ConfigMaps, "shared", "its deletion was refused", "delete", "configmap", "shared")
		f.Helm(h, "uninstall", "old")
		f.WaitField(kit.ConfigMaps, "shared", "data.key", "old")

		// The other way round: the object belongs to shop by its manifest, and to heir by its annotations.
		f.Helm(h, "install", "heir", f.Chart("heir", kit.ConfigMap("shared", "heir")), "--take-ownership")
		f.passes("patch", "configmap", "shared", "--type=merge", "-p", `{"data":{"key":"heir's own"}}`)
		f.Helm(h, "upgrade", "heir", f.Chart("heir", kit.ConfigMap("other", "heir")))
		f.WaitField(kit.ConfigMaps, "shared", "data.key", "old")
	})
}

// An object whose annotations name no release, or one without a valid record, does not belong to another release: the
// guard refuses its change like any other.
func TestHostile_AClaimOfNoReleaseIsRefused(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	f.Forge(kit.ForgedRecord{Name: "no-status", Labels: map[string]string{"status": ""}})
	f.Forge(kit.ForgedRecord{Name: "no-version", Status: "pending-install", Labels: map[string]string{"version": "x"}})
	for _, claimed := range []string{
		"name=x y", "name=a/b", "name=%zz", "name=X", "name=shop,status=deployed", "name=" + strings.Repeat("x", 64),
		"namespace=../pods/http:mine:8080/proxy", "namespace=..", "namespace=a/b", "namespace=x y",
		"name=no-status", "name=no-version",
	} {
		f.refused(kit.ConfigMaps, "settings", "", "annotate", "configmap", "settings", "--overwrite",
			"meta.helm.sh/release-"+claimed)
	}
}
