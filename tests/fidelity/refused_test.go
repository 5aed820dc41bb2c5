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

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Each object has a field whose change the API server may refuse, and others.
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
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reads, labels: {tier: gold}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: good, namespace: nowhere}]
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
			got := kit.Field(frozen, "data.mode")
			check.That(t, got == "evil", "data.mode is %v", got)
			// A server-side apply without the field would delete it, or give up its ownership.
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
			larger := withLargerClaims(w.Get(sets, "db"))
			larger.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm", "tier": "evil"})
			w.replaceWhileSuspended("statefulsets", larger)
			w.refusedIn(sets, "db", "spec.volumeClaimTemplates", func() {
				w.Patch(sets, "db", `{"metadata":{"labels":{"tier":"worse"}}}`)
			})
			w.Strategic(sets, "db", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"evil"}]}}}}`)
			w.WaitField(sets, "db", "spec.template.spec.containers.0.image", "registry.example/db:1")
			w.Delete(sets, "db") // and so it can be restored
			w.WaitReady("app", 1)
		})
		t.Run("replaced with another role", func(t *testing.T) { w.on(t).refusesARole() })
	})
}

// refusesARole replaces a RoleBinding with one of another role, which is an atomic map.
func (w *fixture) refusesARole() {
	w.Helper()
	bindings := resource("rolebindings")
	another := anew(w.Get(bindings, "reads"))
	check.NoError(w, unstructured.SetNestedField(another.Object, "evil", "roleRef", "name"))
	another.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm", "tier": "evil"})
	w.replaceWhileSuspended("rolebindings", another)
	w.refusedIn(bindings, "reads", "roleRef.name", func() {
		w.Patch(bindings, "reads", `{"metadata":{"labels":{"tier":"worse"}},"subjects":null}`)
	})
	if subjects := kit.Field(w.Get(bindings, "reads"), "subjects"); subjects == nil {
		w.Error("the subjects are gone")
	}
}

// refusedIn waits until everything of an object but a field is restored, and again after a further change, and until
// the status reports the field. The further change must be recorded as of another time than the first one: it was seen
// later. It fails the test if the operator continues to write.
func (w *fixture) refusedIn(gvr schema.GroupVersionResource, name, field string, change func()) {
	w.Helper()
	w.WaitField(gvr, name, "metadata.labels.tier", "gold")
	change()
	w.WaitField(gvr, name, "metadata.labels.tier", "gold")
	w.Eventually("each change is recorded as of its own time", func() error {
		recent := w.HelmRelease("app").Status.RecentDrift
		times := map[metav1.MicroTime]struct{}{}
		for _, r := range recent {
			if r.Object.Name == name && slices.Contains(r.Paths, "/metadata/labels/tier") {
				times[r.Time] = struct{}{}
			}
		}
		if len(times) < 2 {
			return fmt.Errorf("recorded are %+v", recent)
		}
		return nil
	})
	c := w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
	if !strings.Contains(c.Message, field) || strings.Contains(c.Message, "metadata.labels") {
		w.Errorf("Ready names the wrong fields: %s", c.Message)
	}
	w.Says("app", v1alpha1.ConditionLocked, v1alpha1.ReasonRevertFailed, "3 of 4 objects protected, 1 in part", name)
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

// TestI2_AllChangesGoWithTheRefusedOne renames the element of a list, which is two changes at one path, and makes the
// old name a refused one. No field is left to restore then, and nothing is written: every other field stays.
func TestI2_AllChangesGoWithTheRefusedOne(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", `
apiVersion: v1
kind: ServiceAccount
metadata: {name: account, labels: {tier: gold}, annotations: {note: declared}}
secrets: [{name: declared}]
automountServiceAccountToken: false
`+"---"+kit.ConfigMap("other", "declared"))
		accounts := resource("serviceaccounts")
		w.Deny(accounts, "!has(object.secrets) || object.secrets.all(s, s.name != 'declared')", "account", `{}`)
		w.Proxy.Reset()
		w.Patch(accounts, "account", `{"secrets":[{"name":"evil"}]}`)
		c := w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
		check.That(t, strings.Contains(c.Message, "account") && !strings.Contains(c.Message, "all else is protected"),
			"Ready says %s", c.Message)
		w.Patch(kit.ConfigMaps, "other", `{"data":{"key":"evil"}}`)
		w.WaitField(kit.ConfigMaps, "other", "data.key", "declared")
		for _, r := range w.writes("serviceaccounts") { // all of them are the revert that is refused
			check.That(t, strings.Contains(string(r.Body), `"secrets":[{"name":"declared"}]`), "written: %s %s", r, r.Body)
		}
		live := w.Get(accounts, "account")
		check.That(t,
			live.GetLabels()["tier"] == "gold" && live.GetAnnotations()["note"] == "declared" &&
				kit.Field(live, "automountServiceAccountToken") == false, "the account is %v", live.Object)
	})
}
