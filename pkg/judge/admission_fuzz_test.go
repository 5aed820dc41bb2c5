package judge

import (
	"fmt"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// choices turns the bytes of a fuzz input into decisions.
type choices struct{ data []byte }

func (c *choices) n(below int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return int(b) % below
}

// deployment returns a Deployment with a few labels, containers, variables, ports and arguments. Names and values are
// few, so that two of them often have the same.
func (c *choices) deployment() *unstructured.Unstructured {
	containers := []any{}
	for i := range 1 + c.n(3) {
		container := map[string]any{"name": fmt.Sprint("c", i+c.n(2)*3), "image": fmt.Sprint("i", c.n(2))}
		if c.n(2) == 1 {
			container["args"] = []any{fmt.Sprint(c.n(2)), fmt.Sprint(c.n(2))}[:1+c.n(2)]
		}
		if c.n(2) == 1 {
			container["env"] = []any{map[string]any{"name": "A", "value": fmt.Sprint(c.n(2))},
				map[string]any{"name": fmt.Sprint("B", c.n(2)), "value": "b"}}[:1+c.n(2)]
		}
		if c.n(2) == 1 {
			container["ports"] = []any{map[string]any{"containerPort": int64(80 + c.n(2)), "protocol": "TCP"}}
		}
		containers = append(containers, container)
	}
	labels := map[string]any{"app": fmt.Sprint(c.n(2))}
	if c.n(2) == 1 {
		labels["more"] = fmt.Sprint(c.n(2))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "a", "namespace": "apps", "labels": labels},
		"spec": map[string]any{"replicas": int64(c.n(3)),
			"template": map[string]any{"spec": map[string]any{"containers": containers}}},
	}}
}

// FuzzAdmit checks the agreement of guard and operator: a request to keep an object, or to make it as declared, is
// never refused; one with the first drift of an object always is. Harmless agrees with Judge, whatever the object was
// before.
func FuzzAdmit(f *testing.F) {
	schemas, err := drift.NewSchemas()
	check.NoError(f, err)
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	f.Add([]byte{}, false)
	f.Add([]byte{1, 0, 1, 1, 0, 1, 2, 1, 0, 0, 1, 1, 2, 1, 1, 0, 1, 0, 1, 2, 0, 1, 1, 1, 0, 2, 1, 0, 1}, true)
	f.Fuzz(func(t *testing.T, data []byte, strict bool) {
		c := &choices{data}
		desired, before, after := c.deployment(), c.deployment(), c.deployment()
		for _, live := range []*unstructured.Unstructured{before, after} {
			live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "me", Operation: "Update",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:more":{}}}}`)}})
		}
		a := Admission{Guard: v1alpha1.GuardDeny, Input: Input{
			ID:      manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: "a"},
			Desired: desired.Object, Schema: schemas.For(kind), Scalable: true, Strict: strict,
			Owner: drift.Owner{Manager: "helm", Operation: "Update", Known: true},
		}}
		admit := func(before, after *unstructured.Unstructured) (AdmissionReason, []drift.Change) {
			a.Before, a.After = before, after
			return Admit(a)
		}
		drifts := func(live *unstructured.Unstructured) []drift.Change {
			in := a.Input
			in.Live = live
			return Judge(in).Changes
		}
		if reason, changes := admit(before, before.DeepCopy()); reason != AdmitNoDrift {
			t.Errorf("nothing changed: %s %v\ndesired %v\nbefore %v", reason, changes, desired.Object, before.Object)
		}
		if reason, changes := admit(before, desired); reason != AdmitNoDrift {
			t.Errorf("repaired: %s %v", reason, changes)
		}
		_, changes := admit(desired, after)
		want := drifts(after)
		check.That(t, len(changes) == len(want) && (len(want) == 0 || reflect.DeepEqual(changes, want)),
			"of what was in sync: %v, and it drifts by %v", changes, want)
		if reason, changes := admit(before, after); (reason == StopChange) != (len(changes) > 0) ||
			reason == StopChange && len(drifts(after)) == 0 {
			t.Errorf("%s %v, and it drifts by %v", reason, changes, drifts(after))
		}
		if a.Harmless() != (len(drifts(after)) == 0) {
			t.Errorf("harmless: %t, and it drifts by %v", a.Harmless(), drifts(after))
		}
		if reason, changes := admit(nil, after); a.Harmless() && reason != AdmitNoDrift {
			t.Errorf("harmless: %s %v", reason, changes)
		}
	})
}
