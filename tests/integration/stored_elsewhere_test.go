package integration

import (
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// asFlux returns Helm's library as Flux uses it with a targetNamespace: the records are stored in Apps, and the
// release is in another namespace.
func (w *fixture) asFlux(namespace string) *kit.HelmSDK {
	w.Helper()
	return w.HelmSDK(namespace, w.Apps)
}

func (w *fixture) installAsFlux(namespace, chart string) {
	w.Helper()
	check.NoError(w, w.asFlux(namespace).Install(chart))
}

func (w *fixture) upgradeAsFlux(namespace, chart string) {
	w.Helper()
	check.NoError(w, w.asFlux(namespace).Upgrade(chart, nil))
}

// A release with its record in another namespace than its objects is locked like any other, by the namespace of the
// record: objects without a namespace are created in the release's, and their annotations name that one.
func TestStoredElsewhere_IsLocked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target := w.Namespace(w.Apps + "-target")
	w.installAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "declared")+kit.ConfigMap("dropped", "declared")))
	w.Proxy.Reset()
	w.Lock("app")
	w.PassFence()
	w.ExpectNoWrites()
	w.At(target).Reverts("settings", "declared")
	w.DeleteIn(kit.ConfigMaps, target, "settings")
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "declared")
	w.upgradeAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "second")))
	w.WaitReady("app", 2)
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "second")
	w.At(target).Reverts("settings", "second")
	check.NoError(t, w.asFlux(target).Uninstall())
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
	w.PassFence()
	w.gone(target, "settings")
}

// A release that declares and owns the same object does not touch it once the other one has been locked: the object's
// annotations lead to the record, wherever that is stored, also while Helm works. (Of two HelmReleases created in one
// second, the one with the first name counts as the older.)
func TestStoredElsewhere_ItsObjectsAreItsOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target := w.Namespace(w.Apps + "-target")
	w.Forge(kit.ForgedRecord{Name: "aged", Manifest: kit.ConfigMapIn(target, "settings", "other")})
	w.CreateHelmRelease("aged", func(hr *v1alpha1.HelmRelease) { hr.Spec.Suspend = true })
	w.installAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.Lock("app")
	w.PatchHelmRelease("aged", `{"spec":{"suspend":false}}`)
	w.Says("aged", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, "belongs to Helm release "+w.Apps+"/app")
	w.upgradeAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "second")))
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "second")
	w.PassFence()
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "second")
	w.Says("aged", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, "belongs to Helm release "+w.Apps+"/app")
}

// A user with the right to write records in one namespace cannot claim a release of another: a record that names a
// namespace with native records of the release is a copy, or forged. It counts once the release has no records of its
// own any more.
func TestStoredElsewhere_ForgedForAReleaseThatExists(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	victim := w.Namespace(w.Apps + "-victim")
	w.At(victim).Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.Forge(kit.ForgedRecord{Name: "app", Namespace: victim, Manifest: kit.ConfigMap("settings", "pwned") +
		kit.ConfigMap("added", "pwned")})
	w.Proxy.Reset()
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, victim+"/app", "records in its own namespace")
	w.PatchIn(kit.ConfigMaps, victim, "settings", `{"data":{"key":"changed by its owner"}}`)
	w.PassFence()
	w.ExpectNoWrites()
	w.WaitFieldIn(kit.ConfigMaps, victim, "settings", "data.key", "changed by its owner")
	w.At(victim).Helm(kit.Shared.Helm3(), "uninstall", "app")
	w.WaitReady("app", 1)
}

// A record in a third namespace that names the same release owns none of its objects, whichever HelmRelease is older.
func TestStoredElsewhere_ForgedInAThirdNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target := w.Namespace(w.Apps + "-target")
	w.installAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.Lock("app")
	forger := w.At(w.Namespace(w.Apps + "-lair"))
	forger.Forge(kit.ForgedRecord{Name: "app", Namespace: target, Manifest: kit.ConfigMap("bait", "x")})
	w.Lock("aaa", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: forger.Apps, Name: "app"}
	})
	forger.Forge(kit.ForgedRecord{Name: "app", Namespace: target, Revision: 2, Status: "pending-upgrade",
		Manifest: kit.ConfigMap("settings", "pwned")})
	w.Says("aaa", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)
	w.At(target).Reverts("settings", "declared")
	w.WaitReady("app", 1)
}

// Writes of a release to another namespace use the rights of an account in the namespace of the record.
func TestStoredElsewhere_AccountOfTheRecordsNamespaceDecides(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Impersonate = true })
	target := w.Namespace(w.Apps + "-target")
	account := w.Account(w.Apps, "robot")
	w.Bind(target, "target-robot", "ClusterRole/cluster-admin", w.Account(target, "robot"))
	w.installAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.ServiceAccountName = "robot" })
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, w.Apps+":robot", "settings")
	w.Bind(target, "apps-robot", "ClusterRole/cluster-admin", account)
	w.WaitReady("app", 1)
	w.At(target).Reverts("settings", "declared")
}

// Helm may begin to keep records where the release is. It stores them before it writes, and so the operator has to ask
// for these, too: it may not have seen them.
func TestI1_HelmBeginsToKeepRecordsInAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
	target := w.Namespace(w.Apps + "-target")
	w.installAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "by Flux")))
	w.Lock("app")
	release := w.Proxy.HoldWatch(cluster.WatchOf("secrets"))
	w.At(target).Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", kit.ConfigMap("settings", "by Helm")))
	w.PassFence()
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "by Helm")
	release()
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, target+"/app")
	w.PassFence()
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "by Helm")
}
