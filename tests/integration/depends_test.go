package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// taken has an object belong to another release, with another content, as helm install --take-ownership does.
func (w *fixture) taken(name, release, value string) {
	w.Helper()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"meta.helm.sh/release-name": release}},
		"data":     map[string]any{"key": value},
	})
	check.NoError(w, err)
	w.Patch(kit.ConfigMaps, name, string(patch))
}

// An object is not touched because another release declares it. The other release is then uninstalled with the object
// kept, or upgraded to a revision without the object, or its unreadable record is. Nothing about the object changes,
// and it is reverted nevertheless.
func TestI2_ConflictEndsWithWhatItDependedOn(t *testing.T) {
	t.Parallel()
	const second = "sh.helm.release.v1.second.v1"
	for name, end := range map[string]func(w *fixture){
		"the other release is uninstalled": func(w *fixture) { w.DeleteIn(kit.Secrets, w.Apps, second) },
		"the other release is uninstalled and its history kept": func(w *fixture) {
			w.Forge(kit.ForgedRecord{Name: "second", Status: "uninstalled", Manifest: kit.ConfigMap("common", "second")})
		},
		"the other release is upgraded": func(w *fixture) {
			w.Forge(kit.ForgedRecord{Name: "second", Revision: 2, Manifest: kit.ConfigMap("unrelated", "second")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Forged("first", kit.ConfigMap("common", "first"))
			w.Forge(kit.ForgedRecord{Name: "second", Manifest: kit.ConfigMap("common", "second")})
			w.taken("common", "second", "second")
			w.Says("first", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, "belongs to Helm release "+w.Apps+"/second")
			w.PassFence()
			w.ExpectKey("common", "second")
			end(w)
			w.WaitField(kit.ConfigMaps, "common", "data.key", "first")
			w.WaitReady("first", 1)
		})
	}
}

// The other release's manifest is read once for all objects with its name, and a change during the read is not
// missed.
func TestI2_RecordChangesWhileItIsReadForAConflict(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("first", kit.ConfigMap("common", "first")+kit.ConfigMap("shared", "first"))
	hold := w.Proxy.HoldAnswers(cluster.ForPath("/secrets/sh.helm.release.v1.second.v1", http.MethodGet))
	defer hold.Release()
	w.Forge(kit.ForgedRecord{Name: "second", Manifest: kit.ConfigMap("common", "second") + kit.ConfigMap("shared", "second")})
	w.taken("common", "second", "second")
	w.taken("shared", "second", "second")
	check.NoError(t, hold.Wait(w.Ctx, 1))
	w.DeleteIn(kit.Secrets, w.Apps, "sh.helm.release.v1.second.v1")
	w.PassFence()
	hold.Release()
	w.WaitField(kit.ConfigMaps, "common", "data.key", "first")
	w.WaitField(kit.ConfigMaps, "shared", "data.key", "first")
	w.WaitReady("first", 1)
}

// Two HelmReleases declare an object, and the older one locks it. An upgrade of that release drops the object, and
// the operator sees only the end of the upgrade. The younger HelmRelease locks the object.
func TestI5_ObjectThatAnotherHelmReleaseDeclaresNoMore(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("older", kit.ConfigMap("common", "older")+kit.ConfigMap("rest", "older"))
	w.Forge(kit.ForgedRecord{Name: "younger", Manifest: kit.ConfigMap("common", "younger")})
	w.CreateHelmRelease("younger")
	w.Says("younger", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, w.Operator+"/older")
	w.Forge(kit.ForgedRecord{Name: "older", Revision: 2, Manifest: kit.ConfigMap("rest", "older")})
	w.WaitReady("younger", 1)
	w.WaitField(kit.ConfigMaps, "common", "data.key", "younger")
	w.Reverts("common", "younger")
}

// The differences at the start of a lock are dry-run in parallel, and each object is reverted right after its own
// answer: objects whose answers never arrive delay no others.
func TestI5_RelockRevertsEachObjectAsSoonAsItIsJudged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	manifest := ""
	for i := range 6 {
		manifest += kit.ConfigMap(fmt.Sprintf("settings-%d", i), "first")
	}
	w.Forged("app", manifest)
	dryRuns := cluster.ForResource("configmaps", http.MethodPatch).And(cluster.ForQuery("dryRun", "All"))
	hold := w.Proxy.HoldRequests(dryRuns.And(func(r *http.Request) bool {
		return strings.ContainsAny(path.Base(r.URL.Path), "024")
	}))
	defer hold.Release()
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: strings.ReplaceAll(manifest, "first", "second")})
	for _, name := range []string{"settings-1", "settings-3", "settings-5"} {
		w.WaitField(kit.ConfigMaps, name, "data.key", "second")
	}
	w.Reverts("settings-1", "second")
	check.NoError(t, hold.Wait(w.Ctx, 3))
	hold.Release()
	for _, name := range []string{"settings-0", "settings-2", "settings-4"} {
		w.WaitField(kit.ConfigMaps, name, "data.key", "second")
	}
	w.WaitReady("app", 2)
}
