package guard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// An object that opted out in the trusted revision was never compared, and its rights were never asked for.
func TestHostile_AnOptedOutBindingGivesNoRight(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	by := f.attacker("admin")
	declared := kit.ConfigMap("app", "declared")
	_, binding, _ := strings.Cut(f.escalation(by.name), "---\n")
	_, binding, _ = strings.Cut(binding, "---\n") // the RoleBinding
	optedOut := strings.Replace(binding, "metadata: {", fmt.Sprintf("metadata: {annotations: {%s: %s}, ",
		v1alpha1.LockAnnotation, v1alpha1.LockDisabled), 1)
	f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", declared))
	by.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: declared + "---\n" + optedOut})
	f.CreateHelmRelease("app")
	f.trust("app", v1alpha1.TrustStateTrusted, v1alpha1.TrustAsDeclared, "")
	by.Forge(kit.ForgedRecord{Name: "app", Revision: 3, Manifest: declared + "---\n" + binding})
	f.doubted("app", 3, by.name, "bind clusterroles")
	f.gained(by)
}

// Without the labels that Helm selects records by, the record of an interrupted upgrade is as deleted.
func TestHostile_ARecordWithoutItsLabelsIsAsDeleted(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.deployed("app")
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade", Manifest: f.second()})
	f.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonTransitioning)
	f.dropRole()
	f.mallory.Patch(kit.Secrets, release.ObjectName("app", 2), `{"metadata":{"labels":{"owner":null}}}`)
	f.doubted("app", 1)
	f.staysDropped()
}

// No other user ends an uninstallation: neither by another one, nor by a revision of his own.
func TestHostile_AnUninstallationIsNotEndedByAnotherUser(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	me, own := "mallory-of-"+f.Apps, "---\n"+kit.ConfigMap("own", "declared")
	for name, attack := range map[string]func(name string) int{
		"uninstalled": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Status: "uninstalling", Manifest: f.first(),
				Labels: map[string]string{"x": "y"}})
			f.deleteRecord(f.mallory, name, 1)
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.first()})
			return 2
		},
		"installed": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: own})
			f.WaitReady(name, 2)
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 3, Manifest: f.first() + own})
			return 3
		},
	} {
		f.deployed(name)
		f.Forge(kit.ForgedRecord{Name: name, Status: "uninstalling", Manifest: f.first()})
		f.doubted(name, attack(name), me)
		f.dropRole()
		f.staysDropped()
		f.DeleteHelmRelease(name)
		check.NoError(t, f.Kube.CoreV1().ConfigMaps(f.Apps).Delete(f.Ctx, "settings", metav1.DeleteOptions{}))
	}
}

// A revision whose writer lacks a right for its record may have been deployed all the same: Helm needs no right to
// escalate for a role whose rules its user has. The revision before it is not replayed.
func TestHostile_ARefusedRevisionIsNotUndone(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.deployed("app")
	by := f.attacker("edit")
	by.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: f.second()})
	f.doubted("app", 2, by.name)
	f.dropRole()
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 3, Manifest: f.first()})
	f.doubted("app", 3, "mallory-of-"+f.Apps)
	f.staysDropped()
}

// A writer who skips a revision needs the rights for all that it declares, but was not asked for those to delete:
// nothing of earlier revisions is pruned.
func TestHostile_AGapPrunesNothing(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.deployed("app")
	settings, extra := kit.ConfigMap("settings", "declared"), kit.ConfigMap("extra", "declared")
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 3, Manifest: settings})
	f.WaitReady("app", 3)
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 4, Manifest: settings + extra})
	f.WaitReady("app", 4)
	f.NextSecond(f.Get(kit.ConfigMaps, "extra"))
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 5, Manifest: settings})
	f.WaitGone(kit.ConfigMaps, f.Apps, "extra") // the ClusterRole was to be pruned before it
	_, exists := f.hasRole()
	check.That(t, exists, "the ClusterRole is deleted for a user without the right")
}

// The pending record came and went while the operator did not look, so its newest record is the one of its lock.
func TestHostile_ARecordThatComesAndGoesUnseenEndsTheLock(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.deployed("app")
	records := func(r *http.Request) bool { return cluster.WatchOf("secrets")(r) && r.URL.Path == "/api/v1/secrets" }
	sight, _ := f.Proxy.Blind(records)
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade", Manifest: f.second()})
	f.deleteRecord(f.mallory, "app", 2)
	sight()
	f.doubted("app", 1)
	f.dropRole()
	f.staysDropped()
}

// Helm may go on with an upgrade whose pending record another user has hidden, and then the objects are not as the
// revision before declares them, though they are now. ci has no right to escalate, so its records are refused.
func TestHostile_HelmIsAtWorkWhenItsRecordIsHidden(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	ci := f.attacker("edit")
	patched := func(name, body string) { f.mallory.Patch(kit.Secrets, release.ObjectName(name, 2), body) }
	for name, attack := range map[string]func(name string) int{
		"failed": func(name string) int {
			patched(name, `{"metadata":{"labels":{"status":"failed"}}}`)
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 3, Manifest: f.first()})
			return 3
		},
		"deleted": func(name string) int {
			f.deleteRecord(f.mallory, name, 2)
			return 1
		},
		"uninstalled": func(name string) int {
			patched(name, `{"metadata":{"labels":{"status":"uninstalling"}}}`)
			f.deleteRecord(f.mallory, name, 2)
			return 1
		},
		"replaced": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.first()})
			return 2
		},
		"unjudged": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2,
				Manifest: "apiVersion: example.com/v1\nkind: NotServed\nmetadata: {name: it}\n"})
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.first()})
			return 2
		},
		"refused": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 3, Manifest: f.clusterAdmin()})
			f.deleteRecord(f.mallory, name, 3)
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.first()})
			return 2
		},
		"begun": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 3, Status: "pending-upgrade", Manifest: f.first()})
			f.deleteRecord(f.mallory, name, 3)
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.first()})
			return 2
		},
	} {
		f.deployed(name)
		ci.Forge(kit.ForgedRecord{Name: name, Revision: 2, Status: "pending-upgrade", Manifest: f.second()})
		f.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonTransitioning)
		f.doubted(name, attack(name))
		f.dropRole() // as Helm does by and by
		f.staysDropped()
		f.DeleteHelmRelease(name)
		check.NoError(t, f.Kube.CoreV1().ConfigMaps(f.Apps).Delete(f.Ctx, "settings", metav1.DeleteOptions{}))
	}
}
