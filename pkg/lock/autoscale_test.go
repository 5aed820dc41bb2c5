package lock

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/manifest"
)

func hpa(name, target string, least, most int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "apps", "name": name},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
			"minReplicas":    least, "maxReplicas": most,
		},
	}}
}

func deployment(name string) manifest.ID {
	return manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: name}
}

func TestAutoscalersTellForWhomARangeChanges(t *testing.T) {
	var a Autoscalers
	expect := func(got []manifest.ID, want ...manifest.ID) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	}
	expect(a.Set(hpa("a", "web", 2, 5)), deployment("web"))
	expect(a.Set(hpa("a", "web", 2, 5))) // a change of its status, say
	if r := a.Range(deployment("web")); !r.Contains(2) || !r.Contains(5) || r.Contains(1) || r.Contains(6) {
		t.Errorf("range %v", r)
	}
	expect(a.Set(hpa("a", "web", 2, 6)), deployment("web"))
	expect(a.Set(hpa("a", "api", 2, 6)), deployment("api"), deployment("web"))
	if a.Range(deployment("web")) != nil {
		t.Error("web is scaled by nobody")
	}
	expect(a.Set(hpa("b", "api", 1, 1)), deployment("api"))
	if r := a.Range(deployment("api")); r.By != "apps/a" {
		t.Errorf("of two, the first by name counts; got %s", r.By)
	}
	expect(a.Remove(types.NamespacedName{Namespace: "apps", Name: "a"}), deployment("api"))
	expect(a.Remove(types.NamespacedName{Namespace: "apps", Name: "a"}))
	expect(a.Remove(types.NamespacedName{Namespace: "apps", Name: "b"}), deployment("api"))
	if len(a.Names()) != 0 || len(a.ranges) != 0 {
		t.Errorf("left: %v %v", a.Names(), a.ranges)
	}
}

func TestAutoscalerOfKEDAMayScaleToNothing(t *testing.T) {
	var a Autoscalers
	u := hpa("keda-hpa-web", "web", 1, 5)
	u.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web"}}
	a.Set(u)
	if !a.Range(deployment("web")).Contains(0) {
		t.Error("it may not")
	}
}

func TestDamagedAutoscalersHaveNoRange(t *testing.T) {
	var a Autoscalers
	for _, spec := range []any{nil, "text", map[string]any{}, map[string]any{"scaleTargetRef": "web"},
		map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}},
		map[string]any{"scaleTargetRef": map[string]any{"kind": 1}}} {
		a.Set(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "apps", "name": "x"}, "spec": spec}})
	}
	if n := len(a.Names()); n != 0 {
		t.Errorf("%d are known", n)
	}
	// Without a maximum nothing is in the range.
	u := hpa("a", "web", 1, 1)
	unstructured.RemoveNestedField(u.Object, "spec", "maxReplicas")
	a.Set(u)
	if a.Range(deployment("web")).Contains(1) {
		t.Error("an autoscaler without a maximum has a range")
	}
}
