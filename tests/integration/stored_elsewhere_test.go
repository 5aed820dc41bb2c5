package integration

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// helmIn runs Helm 3 in another namespace than Apps.
func (w *fixture) helmIn(namespace string, args ...string) {
	w.Helper()
	if out, err := kit.Shared.Helm3().Run(w.Ctx, append(args, "--namespace", namespace)...); err != nil {
		w.Fatal(err, out)
	}
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
	w.PatchIn(kit.ConfigMaps, target, "settings", `{"data":{"key":"tampered"}}`)
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "declared")
	w.DeleteIn(kit.ConfigMaps, target, "settings")
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "declared")
	w.upgradeAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "second")))
	w.WaitReady("app", 2)
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "second")
	w.PatchIn(kit.ConfigMaps, target, "settings", `{"data":{"key":"tampered"}}`)
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "second")
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
	w.Forge(kit.ForgedRecord{Name: "aged", Manifest: fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: %s}\ndata: {key: other}\n", target)})
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
// namespace with native records of the release is a copy, or forged.
func TestStoredElsewhere_ForgedForAReleaseThatExists(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	victim := w.Namespace(w.Apps + "-victim")
	w.helmIn(victim, "install", "app", w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.Forge(kit.ForgedRecord{Name: "app", Namespace: victim, Manifest: kit.ConfigMap("settings", "pwned") +
		kit.ConfigMap("added", "pwned")})
	w.Proxy.Reset()
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, victim+"/app", "records in its own namespace")
	w.PatchIn(kit.ConfigMaps, victim, "settings", `{"data":{"key":"changed by its owner"}}`)
	w.PassFence()
	w.ExpectNoWrites()
	w.WaitFieldIn(kit.ConfigMaps, victim, "settings", "data.key", "changed by its owner")
}

// A record in a third namespace that names the same release owns none of its objects, whichever HelmRelease is older.
func TestStoredElsewhere_ForgedInAThirdNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target := w.Namespace(w.Apps + "-target")
	w.installAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.Lock("app")
	forger := *w.Env
	forger.Apps = w.Namespace(w.Apps + "-lair")
	forger.Forge(kit.ForgedRecord{Name: "app", Namespace: target, Manifest: kit.ConfigMap("bait", "x")})
	w.CreateHelmRelease("aaa", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: forger.Apps, Name: "app"}
	})
	w.WaitReady("aaa", 1)
	forger.Forge(kit.ForgedRecord{Name: "app", Namespace: target, Revision: 2, Status: "pending-upgrade",
		Manifest: kit.ConfigMap("settings", "pwned")})
	w.Says("aaa", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)
	w.PatchIn(kit.ConfigMaps, target, "settings", `{"data":{"key":"tampered"}}`)
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "declared")
	w.WaitReady("app", 1)
}

// Writes of a release to another namespace use the rights of an account in the namespace of the record.
func TestStoredElsewhere_AccountOfTheRecordsNamespaceDecides(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Impersonate = true })
	target := w.Namespace(w.Apps + "-target")
	w.createIn(serviceAccounts, w.Apps, map[string]any{"apiVersion": "v1", "kind": "ServiceAccount",
		"metadata": map[string]any{"name": "robot"}})
	w.createIn(serviceAccounts, target, map[string]any{"apiVersion": "v1", "kind": "ServiceAccount",
		"metadata": map[string]any{"name": "robot"}})
	w.grant(target, "target-robot", target)
	w.installAsFlux(target, w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.ServiceAccountName = "robot" })
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, w.Apps+":robot", "settings")
	w.grant(target, "apps-robot", w.Apps)
	w.WaitReady("app", 1)
	w.PatchIn(kit.ConfigMaps, target, "settings", `{"data":{"key":"tampered"}}`)
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "declared")
}

// grant binds the ServiceAccount robot of a namespace to the administrator's role in another one.
func (w *fixture) grant(in, name, of string) {
	w.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: of, Name: "robot"}},
	}
	_, err := w.Kube.RbacV1().RoleBindings(in).Create(w.Ctx, binding, metav1.CreateOptions{})
	check.NoError(w, err)
}

// A record in another namespace than its release counts once the release has no records of its own any more.
func TestStoredElsewhere_CountsOnceTheOtherRecordIsGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target := w.Namespace(w.Apps + "-target")
	w.helmIn(target, "install", "app", w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.Forge(kit.ForgedRecord{Name: "app", Namespace: target, Manifest: kit.ConfigMap("settings", "declared")})
	w.CreateHelmRelease("app")
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed)
	w.helmIn(target, "uninstall", "app")
	w.WaitReady("app", 1)
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
	w.helmIn(target, "install", "app", w.Chart("app", kit.ConfigMap("settings", "by Helm")))
	w.PassFence()
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "by Helm")
	release()
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, target+"/app")
	w.PassFence()
	w.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", "by Helm")
}
