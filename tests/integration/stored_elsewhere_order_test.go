package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Helm begins to keep records in the namespace of a release whose records are stored in another one, and deletes an
// object. The watch of records is late, so that the lock is older than that.
func TestI1_StoredElsewhere_WhatHelmDeletesIsNotReCreated(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
	target := w.Namespace(w.Apps + "-target")
	settings := kit.ConfigMap("settings", "declared")
	w.installAsFlux(target, w.Chart("app", settings+kit.ConfigMap("dropped", "declared")))
	w.Lock("app")
	release := w.Proxy.HoldWatch(cluster.WatchOf("secrets"))
	w.At(target).Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", settings+kit.ConfigMap("dropped", "declared")))
	w.At(target).Helm(kit.Shared.Helm3(), "upgrade", "app", w.Chart("app", settings))
	w.PassFence()
	w.gone(target, "dropped")
	release()
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, target+"/app")
	w.PassFence()
	w.gone(target, "dropped")
}

// gone fails the test when a ConfigMap exists.
func (w *fixture) gone(namespace, name string) {
	w.Helper()
	_, err := w.In(kit.ConfigMaps, namespace).Get(w.Ctx, name, metav1.GetOptions{})
	check.That(w, apierrors.IsNotFound(err), "ConfigMap %s/%s is not gone: %v", namespace, name, err)
}

// The same, and the operator creates an object while Helm installs a revision that does not declare it.
func TestI1_StoredElsewhere_ACreationIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target := w.Namespace(w.Apps + "-target")
	settings := kit.ConfigMap("settings", "declared")
	w.installAsFlux(target, w.Chart("app", settings+kit.ConfigMap("dropped", "declared")))
	w.Lock("app")
	creation := w.Proxy.HoldRequests(func(r *http.Request) bool {
		return cluster.ForResource("configmaps", http.MethodPost)(r) && strings.Contains(r.URL.Path, "/"+target+"/")
	})
	w.DeleteIn(kit.ConfigMaps, target, "dropped")
	w.WaitHeld(creation, 1)
	release := w.Proxy.HoldWatch(cluster.WatchOf("secrets"))
	defer release()
	w.At(target).Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", settings))
	created := w.RecordIn(target, kit.ConfigMaps)
	creation.Release()
	w.Until("it is created", func() (any, bool) {
		states := created.States(kit.ConfigMaps, "dropped")
		return states, len(states) > 0
	})
	w.WaitGone(kit.ConfigMaps, target, "dropped")
}

// The same, and Helm creates an object declared by an earlier revision in the other namespace.
func TestI2_StoredElsewhere_WhatHelmInstallsIsNotPruned(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
	target := w.Namespace(w.Apps + "-target")
	settings := kit.ConfigMap("settings", "declared")
	both := w.Chart("app", settings+kit.ConfigMap("dropped", "declared"))
	w.installAsFlux(target, both)
	w.upgradeAsFlux(target, w.Chart("app", settings))
	history := w.Proxy.HoldRequests(cluster.ForPath("/" + w.Apps + "/secrets/sh.helm.release.v1.app.v1"))
	w.Lock("app")
	w.WaitHeld(history, 1)
	release := w.Proxy.HoldWatch(cluster.WatchOf("secrets"))
	w.At(target).Helm(kit.Shared.Helm3(), "install", "app", both)
	w.PassFence() // the object is known as one of the release
	history.Release()
	w.PassFence()
	w.WaitFieldIn(kit.ConfigMaps, target, "dropped", "data.key", "declared")
	release()
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, target+"/app")
	w.WaitFieldIn(kit.ConfigMaps, target, "dropped", "data.key", "declared")
	for _, r := range w.Proxy.Writes() {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.Path, "/dropped") {
			t.Errorf("what Helm installed was deleted: %s", r)
		}
	}
}

// A release without a HelmRelease takes an object of a locked release over. Its records are stored in another
// namespace: the object's annotations lead to no record.
func TestI1_StoredElsewhere_AnUnlockedReleaseTakesOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	storage, target := w.Namespace(w.Apps+"-storage"), w.Namespace(w.Apps+"-target")
	w.Installed(kit.Shared.Helm3(), "shop", kit.ConfigMap("settings", "declared"))
	heir := w.HelmSDK(target, storage)
	inherited := func(value string) string {
		return w.Chart("app", kit.ConfigMapIn(w.Apps, "settings", value))
	}
	reads := w.Proxy.HoldRequests(cluster.ForPath("/" + storage + "/secrets/sh.helm.release.v1.app.v1").
		And(cluster.ForResource("secrets", http.MethodGet)))
	check.NoError(t, heir.TakeOver(inherited("inherited")))
	w.WaitHeld(reads, 1)
	w.ExpectKey("settings", "inherited")
	reads.Release()
	w.Says("shop", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, "belongs to Helm release "+storage+"/app")
	w.ExpectKey("settings", "inherited")
	check.NoError(t, heir.Upgrade(inherited("second"), nil))
	w.PassFence()
	w.ExpectKey("settings", "second")
	w.Says("shop", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, "belongs to Helm release "+storage+"/app")
}

// Records stored in another namespace are no evidence for an object of a release with native records, of another
// release than their payload, or outside of their declarations.
func TestHostile_StoredElsewhere_ForgedRecordsOwnNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target, lair := w.Namespace(w.Apps+"-target"), w.Namespace(w.Apps+"-lair")
	settings := kit.ConfigMap("settings", "declared")
	w.Installed(kit.Shared.Helm3(), "shop", settings)
	stolen := kit.ConfigMapIn(w.Apps, "settings", "x")
	forger := w.At(lair)
	w.At(target).Forge(kit.ForgedRecord{Name: "has-records", Manifest: kit.ConfigMap("other", "x")})
	forger.Forge(kit.ForgedRecord{Name: "has-records", Namespace: target, Status: "pending-install", Manifest: stolen})
	forger.Forge(kit.ForgedRecord{Name: "is-another", Status: "pending-install", Manifest: stolen})
	forger.Forge(kit.ForgedRecord{Name: "declares-other", Namespace: target, Status: "pending-install",
		Manifest: kit.ConfigMap("other", "x")})
	forger.Forge(kit.ForgedRecord{Name: "malformed", Namespace: target, Manifest: stolen})
	forger.Forge(kit.ForgedRecord{Name: "malformed", Namespace: target, Revision: 2, Manifest: stolen,
		Labels: map[string]string{"status": ""}})
	// A locked one is evidence for itself.
	storage := w.At(w.Namespace(w.Apps + "-storage"))
	storage.Forge(kit.ForgedRecord{Name: "is-locked", Namespace: target, Manifest: kit.ConfigMap("another", "x")})
	w.Lock("is-locked", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Namespace = storage.Apps })
	forger.Forge(kit.ForgedRecord{Name: "is-locked", Namespace: target, Status: "pending-install", Manifest: stolen})
	for _, name := range []string{"has-records", "is-another", "declares-other", "malformed", "is-locked"} {
		w.Patch(kit.ConfigMaps, "settings", fmt.Sprintf(`{"data":{"key":"tampered"},"metadata":{"annotations":{
			"meta.helm.sh/release-name":%q,"meta.helm.sh/release-namespace":%q}}}`, name, target))
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	}
	w.WaitReady("shop", 1)
}
