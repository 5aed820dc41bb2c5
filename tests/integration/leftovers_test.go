package integration

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var cronJobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}

// withLeftovers is a chart whose second revision drops objects of several kinds.
const withLeftovers = `
apiVersion: v1
kind: ConfigMap
metadata: {name: stays}
data: {key: declared}
{{- if .Values.old }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: old}
data: {key: declared}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: old}
spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "example.com/a:1"}]}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}
data: {key: declared}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: handed-over}
data: {key: declared}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: handed-over}
spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "example.com/a:1"}]}}}}}
{{- end }}
`

// leaveBehind installs a chart and upgrades it while Helm's deletions fail. Helm 3 logs that and continues.
func (w *fixture) leaveBehind(name string) {
	w.Helper()
	chart := w.Chart(name, withLeftovers)
	w.Helm(kit.Shared.Helm3(), "install", name, chart, "--set", "old=true")
	w.NextSecond(w.Get(kit.ConfigMaps, "old"), w.Get(cronJobs, "old"))
	helm, failing := w.HelmThrough(kit.Shared.Helm3())
	failing.On(cluster.ForPath("", http.MethodDelete),
		cluster.Fail(http.StatusInternalServerError, "no deletions today"))
	w.Helm(helm, "upgrade", name, chart, "--set", "old=")
}

// Leftovers of Helm's failed deletions are deleted; objects that Helm would keep, objects with data and objects of
// other releases stay.
func TestI2_LeftoversOfEarlierRevisionsArePruned(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.leaveBehind("app")
	// Of a kind in the release, and of another.
	for _, gvr := range []schema.GroupVersionResource{kit.ConfigMaps, cronJobs} {
		w.Patch(gvr, "handed-over", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`)
	}
	// It names the release in its annotations, and was in no revision of it.
	w.owned(kit.ConfigMaps, "ConfigMap", "stranger", "data", nil)
	check.Must(t, w.Get(kit.ConfigMaps, "old") != nil && w.Get(cronJobs, "old") != nil,
		"Helm has deleted what it should fail to delete")
	w.Lock("app")

	w.WaitGone(kit.ConfigMaps, w.Apps, "old")
	w.WaitGone(cronJobs, w.Apps, "old")
	// Kept and stranger: the claim's kind is not in the manifest.
	w.WaitFieldIn(kit.HelmReleases, w.Operator, "app", "status.objects.unmanaged", int64(2))
	w.WaitLog(w.Running, `left alone: objects of this kind hold data`)
	check.That(t, w.Get(cronJobs, "handed-over") != nil, "the CronJob of another release was deleted")
	for _, name := range []string{"stays", "kept", "handed-over", "stranger"} {
		u := w.Get(kit.ConfigMaps, name)
		check.That(t, u != nil && u.GetDeletionTimestamp() == nil, "ConfigMap %s was deleted", name)
	}
	u := w.Get(volumeClaims, "data")
	check.That(t, u != nil && u.GetDeletionTimestamp() == nil, "the PersistentVolumeClaim was deleted")
	w.reported("app", v1alpha1.DriftActionPruned, 2)
	w.Helm(kit.Shared.Helm3(), "upgrade", "app", w.Chart("app", withLeftovers), "--set", "old=")
}

func TestI2_DetectReportsLeftoversAndDeletesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.leaveBehind("app")
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.reported("app", v1alpha1.DriftActionReported, 4) // those handed over elsewhere are the release's own here
	check.That(t, w.Get(kit.ConfigMaps, "old") != nil && w.Get(cronJobs, "old") != nil, "they were deleted")
	for _, r := range kit.ObjectWrites(w.Proxy) {
		t.Errorf("a write: %s", r)
	}
}

// Helm begins an upgrade that declares the prune candidate again, while the operator deletes it: the object exists
// afterwards, whatever Helm has read of it.
func TestI1_LeftoverThatHelmTakesBackMeanwhile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.leaveBehind("app")
	w.takenBackWhileDeleted("app").Release()
	w.Until("the object is back", func() (any, bool) { return "it is gone", w.Get(kit.ConfigMaps, "old") != nil })
	w.expectOldAsItWas("app")
}

// The same, and the operator is stopped before the answer to its deletion arrives: no other process would re-create
// the object.
func TestI1_StoppedBetweenADeletionAndItsSecondCheck(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.leaveBehind("app")
	hold := w.takenBackWhileDeleted("app")
	defer hold.Release()
	w.StopWhileHeld(w.Running, w.Proxy, hold)
	w.expectOldAsItWas("app")
}

// takenBackWhileDeleted locks a release and upgrades it by Helm to a revision that declares a prune candidate again.
// The operator has deleted that, and the answer is held.
func (w *fixture) takenBackWhileDeleted(name string) *cluster.Hold {
	w.Helper()
	hold := w.Proxy.HoldAnswers(cluster.ForPath("/configmaps/old", http.MethodDelete))
	w.CreateHelmRelease(name)
	check.NoError(w, hold.Wait(w.Ctx, 1))
	w.Forge(kit.ForgedRecord{Name: name, Revision: 3, Status: "pending-upgrade",
		Manifest: kit.ConfigMap("old", "declared")})
	return hold
}

// expectOldAsItWas fails the test when the prune candidate of withLeftovers does not exist, or has changed.
func (w *fixture) expectOldAsItWas(release string) {
	w.Helper()
	u := w.Get(kit.ConfigMaps, "old")
	if u == nil {
		w.Fatal("the object is gone")
	}
	if kit.Field(u, "data.key") != "declared" || u.GetAnnotations()["meta.helm.sh/release-name"] != release {
		w.Errorf("it is not what it was: %v", u.Object)
	}
}

func (w *fixture) create(gvr schema.GroupVersionResource, content map[string]any) *unstructured.Unstructured {
	w.Helper()
	return w.createIn(gvr, w.Apps, content)
}

// owned creates an object as Helm does for release app.
func (w *fixture) owned(
	gvr schema.GroupVersionResource, kind, name, field string, content map[string]any,
) *unstructured.Unstructured {
	w.Helper()
	return w.create(gvr, map[string]any{"apiVersion": gvr.GroupVersion().String(), "kind": kind, field: content,
		"metadata": helmMetadata(w.Env, name, "app")})
}

// helmMetadata returns the metadata of an object of a release.
func helmMetadata(e *kit.Env, name, release string) map[string]any {
	return map[string]any{"name": name, "labels": map[string]any{"app.kubernetes.io/managed-by": "Helm"},
		"annotations": map[string]any{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": e.Apps}}
}

// createManaged creates a ConfigMap as Helm would for a release.
func createManaged(e *kit.Env, name, release, value string) {
	e.Helper()
	_, err := e.In(kit.ConfigMaps, e.Apps).Create(e.Ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": helmMetadata(e, name, release),
		"data": map[string]any{"key": value},
	}}, metav1.CreateOptions{FieldManager: "helm"})
	check.NoError(e, err)
}

// reported waits until recentDrift has a number of prune candidates with an action.
func (w *fixture) reported(name string, action v1alpha1.DriftAction, want int) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%d leftovers are reported as %s", want, action), func() error {
		found := 0
		for _, r := range w.HelmRelease(name).Status.RecentDrift {
			if r.Operation == v1alpha1.DriftLeftover && r.Action == action {
				found++
			}
		}
		if found != want {
			return fmt.Errorf("%d are", found)
		}
		return nil
	})
}
