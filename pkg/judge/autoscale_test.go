package judge

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func hpa(name, target string, least, most int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
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

func scaler(name string) manifest.ID {
	return manifest.ID{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "apps", Name: name}
}

func TestAutoscalersTellForWhomARangeChanges(t *testing.T) {
	var a Autoscalers
	expect := func(got []manifest.ID, want ...manifest.ID) {
		t.Helper()
		check.Must(t, len(got) == len(want), "got %v, want %v", got, want)
		for i := range got {
			check.Must(t, got[i] == want[i], "got %v, want %v", got, want)
		}
	}
	expect(a.Set(hpa("a", "web", 2, 5)), deployment("web"))
	expect(a.Set(hpa("a", "web", 2, 5))) // a change of its status, say
	r := a.Range(deployment("web"), nil)
	check.That(t, r.Contains(2) && r.Contains(5) && !r.Contains(1) && !r.Contains(6), "range %v", r)
	expect(a.Set(hpa("a", "web", 2, 6)), deployment("web"))
	expect(a.Set(hpa("a", "api", 2, 6)), deployment("api"), deployment("web"))
	check.That(t, a.Range(deployment("web"), nil) == nil, "web is scaled by nobody")
	expect(a.Set(hpa("b", "api", 1, 1)), deployment("api"))
	r = a.Range(deployment("api"), nil)
	check.That(t, r.By.Name == "a", "of two, the first by name counts; got %s", r.By)
	expect(a.Remove(scaler("a")), deployment("api"))
	expect(a.Remove(scaler("a")))
	expect(a.Remove(scaler("b")), deployment("api"))
	check.That(t, len(a.IDs()) == 0 && len(a.scalers) == 0, "left: %v %v", a.IDs(), a.scalers)
}

func TestAutoscalerOfKEDAMayScaleToNothing(t *testing.T) {
	var a Autoscalers
	u := hpa("keda-hpa-web", "web", 1, 5)
	u.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "keda.sh/v1alpha1",
		"kind": "ScaledObject", "name": "web"}}
	a.Set(u)
	check.That(t, a.Range(deployment("web"), nil).Contains(0), "it may not")
}

func TestDamagedAutoscalersHaveNoRange(t *testing.T) {
	var a Autoscalers
	for _, spec := range []any{nil, "text", map[string]any{}, map[string]any{"scaleTargetRef": "web"},
		map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}},
		map[string]any{"scaleTargetRef": map[string]any{"kind": 1}}} {
		a.Set(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "apps",
			"name": "x"}, "spec": spec}})
	}
	n := len(a.IDs())
	check.That(t, n == 0, "%d are known", n)
	// Without a maximum nothing is in the range.
	u := hpa("a", "web", 1, 1)
	unstructured.RemoveNestedField(u.Object, "spec", "maxReplicas")
	a.Set(u)
	check.That(t, !a.Range(deployment("web"), nil).Contains(1), "an autoscaler without a maximum has a range")
}

func TestWithinTheRange(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		least, most int64
		live        int64
		last        *int64
		wanted      int64
		want        int64
	}{
		"above, and a last count":              {2, 10, 20, number(7), 0, 7},
		"above, and nothing seen":              {2, 10, 20, nil, 0, 10},
		"above, and nothing seen but a wish":   {2, 10, 20, nil, 7, 10},
		"below, and a last count":              {2, 10, 1, number(7), 7, 7},
		"below, and nothing seen":              {2, 10, 1, nil, 0, 2},
		"below, and nothing seen but a wish":   {2, 10, 0, nil, 7, 7},
		"more wanted than there were":          {2, 10, 20, number(3), 8, 8},
		"fewer wanted than there were":         {2, 10, 20, number(7), 3, 7},
		"a wish from before the range shrank":  {2, 10, 20, number(7), 50, 10},
		"a count from before the range shrank": {2, 10, 20, number(15), 0, 10},
		"a count from before the range rose":   {5, 10, 1, number(3), 0, 5},
		"none, where none is allowed":          {0, 3, 9, number(0), 0, 0},
		"only one number is allowed":           {4, 4, 9, nil, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Range{Min: c.least, Max: c.most}
			check.Equal(t, r.Within(c.live, c.last, c.wanted), c.want)
		})
	}
}

func TestAutoscalersKnowWhatIsWanted(t *testing.T) {
	var a Autoscalers
	u := hpa("a", "web", 2, 10)
	a.Set(u)
	check.Equal(t, a.Wanted(deployment("web")), 0)
	u.Object["status"] = map[string]any{"desiredReplicas": int64(7)}
	changed := a.Set(u)
	check.That(t, len(changed) == 0, "a status has objects judged: %v", changed)
	a.Set(hpa("b", "web", 1, 3))
	check.Equal(t, a.Wanted(deployment("web")), 7)
	a.Remove(scaler("a"))
	check.Equal(t, a.Wanted(deployment("web")), 0)
}

func TestWithReplicasLeavesTheDesiredStateAlone(t *testing.T) {
	desired := map[string]any{"kind": "Deployment", "spec": map[string]any{"replicas": int64(2), "paused": true}}
	got := withNumber(desired, []string{"spec", "replicas"}, 7)["spec"].(map[string]any)
	check.That(t,
		got["replicas"] == int64(7) && got["paused"] == true && desired["spec"].(map[string]any)["replicas"] == int64(2),
		"got %v from %v", got, desired)
}

func TestAutoscaledObjectsNamesTheTargetsOfAutoscalers(t *testing.T) {
	hpa := manifest.Object{ID: manifest.ID{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "apps",
		Name: "web"}, Content: map[string]any{"spec": map[string]any{"minReplicas": int64(2), "maxReplicas": int64(5),
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}}
	scaled := AutoscaledObjects([]manifest.Object{hpa}, func(manifest.Object) bool { return true })
	r := scaled[manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: "web"}]
	for n, want := range map[int64]bool{1: false, 2: true, 5: true, 6: false} {
		check.Equal(t, r.Contains(n), want, "%d replicas: within is %v", n, !want)
	}
	check.That(t, !(*Range)(nil).Contains(1), "no range contains something")
}
