package fidelity

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Each object has a field that the API server may refuse to change, and others.
const refusable = `
apiVersion: v1
kind: ConfigMap
metadata: {name: frozen, labels: {tier: gold}}
data: {mode: safe}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {tier: gold}}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      nodeSelector: {none: "none"}
      containers: [{name: main, image: "registry.example/db:1"}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {key: declared}
`

// TestI5_ARefusedFieldWithholdsNoOther makes a field of an object impossible to restore, in everyday ways. All other
// fields of the object are restored, at that moment and later, and the status names the field.
func TestI5_ARefusedFieldWithholdsNoOther(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", refusable)
		t.Run("immutable", func(t *testing.T) {
			w := w.on(t)
			w.Patch(kit.ConfigMaps, "frozen", `{"metadata":{"labels":{"tier":"evil"}},"immutable":true,"data":{"mode":"evil"}}`)
			w.refusedIn(kit.ConfigMaps, "frozen", "data[mode]", func() {
				w.Patch(kit.ConfigMaps, "frozen", `{"metadata":{"labels":{"tier":"worse"}}}`)
			})
			frozen := w.Get(kit.ConfigMaps, "frozen")
			if got := kit.Field(frozen, "data.mode"); got != "evil" {
				t.Errorf("data.mode is %v", got)
			}
			// A server-side apply that left the field out would delete it, or give it away.
			owned := slices.ContainsFunc(frozen.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
				return e.Manager == "helm" && e.Operation == metav1.ManagedFieldsOperationApply &&
					strings.Contains(string(e.FieldsV1.GetRawBytes()), `"f:mode"`)
			})
			if helm == kit.Shared.Helm4() && !owned {
				t.Errorf("Helm does not own data.mode: %+v", frozen.GetManagedFields())
			}
			w.Delete(kit.ConfigMaps, "frozen") // and so it can be restored
			w.WaitField(kit.ConfigMaps, "frozen", "data.mode", "safe")
			w.WaitReady("app", 1)
		})
		t.Run("replaced with larger claims", func(t *testing.T) {
			w := w.on(t)
			sets := resource("statefulsets")
			larger := w.Get(sets, "db")
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
				unstructured.RemoveNestedField(larger.Object, "metadata", field)
			}
			claims, _, err := unstructured.NestedSlice(larger.Object, "spec", "volumeClaimTemplates")
			check.NoError(t, err)
			check.NoError(t, unstructured.SetNestedField(claims[0].(map[string]any), "3Gi",
				"spec", "resources", "requests", "storage"))
			check.NoError(t, unstructured.SetNestedSlice(larger.Object, claims, "spec", "volumeClaimTemplates"))
			larger.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm", "tier": "evil"})
			w.replaceWhileSuspended("statefulsets", larger)
			w.refusedIn(sets, "db", "spec.volumeClaimTemplates", func() {
				w.Patch(sets, "db", `{"metadata":{"labels":{"tier":"worse"}}}`)
			})
			w.strategic(sets, "db", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"evil"}]}}}}`)
			w.Eventually("the image is back", func() error {
				containers, _, err := unstructured.NestedSlice(w.Get(sets, "db").Object,
					"spec", "template", "spec", "containers")
				if err == nil && containers[0].(map[string]any)["image"] != "registry.example/db:1" {
					err = fmt.Errorf("containers are %v", containers)
				}
				return err
			})
		})
	})
}

// refusedIn waits until everything of an object but a field is restored, and again after a further change, and until
// the status reports the field. It fails the test if the operator then goes on writing.
func (w *fixture) refusedIn(gvr schema.GroupVersionResource, name, field string, change func()) {
	w.Helper()
	w.WaitField(gvr, name, "metadata.labels.tier", "gold")
	change()
	w.WaitField(gvr, name, "metadata.labels.tier", "gold")
	c := w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
	if !strings.Contains(c.Message, field) || strings.Contains(c.Message, "metadata.labels") {
		w.Errorf("Ready names the wrong fields: %s", c.Message)
	}
	w.Patch(kit.ConfigMaps, "other", `{"data":{"key":"evil"}}`)
	w.WaitField(kit.ConfigMaps, "other", "data.key", "declared")
	w.Throughout(time.Second, "nothing is restored that is as declared", func() error {
		// Writes to other objects of the same resource are other reverts.
		writes := slices.DeleteFunc(w.landed(gvr.Resource),
			func(r cluster.Request) bool { return path.Base(r.Path) != name })
		if n := len(writes); n > 4 { // two reverts, each of up to two requests
			return fmt.Errorf("%d writes", n)
		}
		return nil
	})
	w.Proxy.Reset()
}

// strategic changes an object by a strategic merge patch, as a user.
func (w *fixture) strategic(gvr schema.GroupVersionResource, name, patch string) {
	w.Helper()
	_, err := w.In(gvr, w.Apps).Patch(w.Ctx, name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: kit.Tamperer})
	check.NoError(w, err)
}
