package judge

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

const scaledObject = `{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {namespace: apps, name: x}}`
const rollout = `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {namespace: apps, name: x}}`

func TestScalers(t *testing.T) {
	for name, c := range map[string]struct {
		object, annotations, spec string
		within, outside           []int64
		trusted                   bool
	}{
		"a ScaledObject": {object: scaledObject, within: []int64{2, 5}, outside: []int64{0, 1, 6},
			spec: `{scaleTargetRef: {name: web}, minReplicaCount: 2, maxReplicaCount: 5}`},
		"a ScaledObject with a number for idle times": {object: scaledObject, within: []int64{0, 2, 5},
			outside: []int64{6}, spec: `{scaleTargetRef: {name: web}, minReplicaCount: 2, idleReplicaCount: 0,
			maxReplicaCount: 5}`},
		"a ScaledObject without numbers": {object: scaledObject, within: []int64{0, 100}, outside: []int64{101},
			spec: `{scaleTargetRef: {name: web, apiVersion: apps/v1, kind: Deployment}}`},
		"a ScaledObject of another kind": {object: scaledObject, outside: []int64{1},
			spec: `{scaleTargetRef: {name: web, kind: StatefulSet}}`},
		"a paused ScaledObject": {object: scaledObject, annotations: `{autoscaling.keda.sh/paused-replicas: "9"}`,
			within: []int64{2, 5, 9}, outside: []int64{0, 8, 10},
			spec: `{scaleTargetRef: {name: web}, minReplicaCount: 2, maxReplicaCount: 5}`},
		"a ScaledObject paused at what is no number": {object: scaledObject, outside: []int64{0, -1, 9},
			annotations: `{autoscaling.keda.sh/paused-replicas: "-1"}`,
			spec:        `{scaleTargetRef: {name: web}, minReplicaCount: 2, maxReplicaCount: 5}`},
		"a Rollout": {object: rollout, trusted: true, within: []int64{0, 1, 1000},
			spec: `{workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web, scaleDown: onsuccess}}`},
		"a Rollout that no one trusts": {object: rollout, outside: []int64{0, 1, 1000},
			spec: `{workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web, scaleDown: progressively}}`},
		"a Rollout that leaves the number alone": {object: rollout, trusted: true, outside: []int64{0, 1},
			spec: `{workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web, scaleDown: never}}`},
		"a Rollout without a reference": {object: rollout, trusted: true, outside: []int64{0, 1}, spec: `{replicas: 1}`},
		"a Rollout of a kind of no group": {object: rollout, trusted: true, outside: []int64{0, 1},
			spec: `{workloadRef: {name: web, scaleDown: onsuccess}}`},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: fixture.Object(t, c.object)}
			u.Object["spec"] = fixture.Object(t, c.spec)
			if c.annotations != "" {
				annotations := fixture.Object(t, c.annotations)
				check.NoError(t, unstructured.SetNestedField(u.Object, annotations, "metadata", "annotations"))
			}
			var a Autoscalers
			a.Set(u)
			r := a.Range(deployment("web"), func(manifest.ID) bool { return c.trusted })
			for _, n := range c.within {
				check.That(t, r.Contains(n), "%d is not within %v", n, r)
			}
			for _, n := range c.outside {
				check.That(t, !r.Contains(n), "%d is within %v", n, r)
			}
		})
	}
}

// The autoscaler of a ScaledObject does not count beside it, but for the number that it wants.
func TestScaledObjectCountsBeforeItsAutoscaler(t *testing.T) {
	var a Autoscalers
	u := hpa("a", "web", 1, 3)
	u.Object["status"] = map[string]any{"desiredReplicas": int64(2)}
	a.Set(u)
	u = &unstructured.Unstructured{Object: fixture.Object(t, scaledObject)}
	u.Object["spec"] = fixture.Object(t, `{scaleTargetRef: {name: web}, maxReplicaCount: 3}`)
	a.Set(u)
	r := a.Range(deployment("web"), nil)
	check.That(t, r.By.Kind == "ScaledObject" && r.Contains(0), "range %v", r)
	check.Equal(t, a.Wanted(deployment("web")), 2)
}

func TestScaledBy(t *testing.T) {
	nine, by := int64(9), scaler("x")
	declared, other := &Range{Min: 1, Max: 2, By: by}, &Range{Min: 1, Max: 5, Paused: &nine, By: scaler("y")}
	check.Equal(t, ScaledBy(declared, other), declared, "an object that is not declared counts beside one that is")
	r := ScaledBy(declared, &Range{Min: 1, Max: 5, Paused: &nine, By: by})
	check.That(t, r.Contains(9) && !r.Contains(5), "range %v of one that is paused", r)
	check.Equal(t, ScaledBy(nil, other), other, "range")
}

// A rule that leaves a part of the reference or of the range to others leaves the range to them.
func TestIgnoresRange(t *testing.T) {
	o := manifest.Object{GVK: KindOf(scaler("x")), ID: scaler("x")}
	for pointer, want := range map[string]bool{
		"/spec": true, "/spec/scaleTargetRef/name": true, "/spec/maxReplicas": true, "/spec/metrics": false, "": true,
	} {
		ignore, err := rules.Compile([]v1alpha1.IgnoreRule{{Paths: []string{pointer}}})
		check.NoError(t, err)
		check.Equal(t, IgnoresRange(o.ID, ignore.For(o)), want, "%v", pointer)
	}
}
