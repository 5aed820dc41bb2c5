package judge

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Scaler is a kind with a controller that sets the number of replicas of another object.
type Scaler struct {
	schema.GroupVersionKind
	Resource string
	// reference is the path of the reference to the other object, a map of apiVersion, kind and name. target has the
	// defaults for the first two.
	reference []string
	target    schema.GroupVersionKind
	// scope returns the range of an object; nil for one that leaves the number of replicas alone. decides are the paths
	// read by scope.
	scope   func(object map[string]any) *Range
	decides [][]string
}

// Scalers are all such kinds. If several of them have the same target, the earlier one is active: a ScaledObject has a
// HorizontalPodAutoscaler for a part of its range.
var Scalers = []Scaler{
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"},
		Resource:         "rollouts", reference: []string{"spec", "workloadRef"},
		scope: rolloutRange, decides: [][]string{{"spec", "workloadRef", "scaleDown"}},
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"},
		Resource:         "scaledobjects", reference: []string{"spec", "scaleTargetRef"},
		target: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		scope:  scaledObjectRange,
		decides: [][]string{{"spec", "minReplicaCount"}, {"spec", "idleReplicaCount"}, {"spec", "maxReplicaCount"},
			{"metadata", "annotations", pausedReplicas}},
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		Resource:         "horizontalpodautoscalers", reference: []string{"spec", "scaleTargetRef"},
		scope: autoscalerRange, decides: [][]string{{"spec", "minReplicas"}, {"spec", "maxReplicas"}},
	},
}

// scalerOf returns the place of a kind among the Scalers; negative for any other kind.
func scalerOf(kind schema.GroupKind) int {
	return slices.IndexFunc(Scalers, func(s Scaler) bool { return s.GroupKind() == kind })
}

// IsScaler reports whether an object is of one of the Scalers.
func IsScaler(id manifest.ID) bool { return scalerOf(id.GroupKind()) >= 0 }

// KindOf returns the kind of an object of one of the Scalers.
func KindOf(scaler manifest.ID) schema.GroupVersionKind {
	return Scalers[scalerOf(scaler.GroupKind())].GroupVersionKind
}

// GVR returns the resource to list and to watch.
func (s *Scaler) GVR() schema.GroupVersionResource { return s.GroupVersion().WithResource(s.Resource) }

// BuiltIn reports whether every API server serves the kind.
func (s *Scaler) BuiltIn() bool { return s.Group == "autoscaling" }

// scales returns the target of a scaler and its range. The fields that it reads are the same in all versions.
func scales(id manifest.ID, object map[string]any) (target manifest.ID, r *Range, ok bool) {
	at := scalerOf(id.GroupKind())
	if at < 0 {
		return manifest.ID{}, nil, false
	}
	s := &Scalers[at]
	ref, found, err := unstructured.NestedStringMap(object, s.reference...)
	if err != nil || !found || ref["name"] == "" {
		return manifest.ID{}, nil, false
	}
	target = manifest.ID{Group: s.target.Group, Kind: s.target.Kind, Namespace: id.Namespace, Name: ref["name"]}
	if text := ref["apiVersion"]; text != "" || target.Kind == "" {
		gv, err := schema.ParseGroupVersion(text)
		if err != nil {
			return manifest.ID{}, nil, false
		}
		target.Group = gv.Group
	}
	if ref["kind"] != "" {
		target.Kind = ref["kind"]
	}
	if r = s.scope(object); r == nil {
		return manifest.ID{}, nil, false
	}
	r.By = id
	return target, r, true
}

func autoscalerRange(object map[string]any) *Range {
	return &Range{Min: numberAt(object, 1, "spec", "minReplicas"), Max: numberAt(object, 0, "spec", "maxReplicas")}
}

// pausedReplicas is the annotation by which KEDA holds a number of replicas, within the range or not.
const pausedReplicas = "autoscaling.keda.sh/paused-replicas"

// scaledObjectRange returns the range of a ScaledObject of KEDA, paused or not: KEDA then leaves the number as it is.
func scaledObjectRange(object map[string]any) *Range {
	r := &Range{
		Min: numberAt(object, 0, "spec", "minReplicaCount"), Max: numberAt(object, 100, "spec", "maxReplicaCount"),
	}
	r.Min = min(r.Min, numberAt(object, r.Min, "spec", "idleReplicaCount"))
	text, paused, err := unstructured.NestedString(object, "metadata", "annotations", pausedReplicas)
	if n, wrong := strconv.ParseInt(text, 10, 32); paused && err == nil && wrong == nil && n >= 0 {
		r.Paused = &n
	}
	return r
}

// rolloutRange returns any number for a Rollout with spec.workloadRef.scaleDown: it takes over the Pods of that
// workload, and scales it down.
func rolloutRange(object map[string]any) *Range {
	switch how, _, _ := unstructured.NestedString(object, "spec", "workloadRef", "scaleDown"); how {
	case "onsuccess", "progressively":
		return &Range{Max: math.MaxInt32, Any: true}
	}
	return nil
}

// numberAt returns a number of an object, or another one where the object has none.
func numberAt(object map[string]any, other int64, path ...string) int64 {
	if n, found, err := unstructured.NestedInt64(object, path...); found && err == nil {
		return n
	}
	return other
}

// before orders the ranges of one object: the first one is active.
func (r *Range) before(other *Range) bool {
	if a, b := scalerOf(r.By.GroupKind()), scalerOf(other.By.GroupKind()); a != b {
		return a < b
	}
	return r.By.Name < other.By.Name
}

// Range is an inclusive range of replica counts for an autoscaler to choose from.
type Range struct {
	Min, Max int64
	// Paused is the fixed number of a paused autoscaler, in the range or not; nil for none.
	Paused *int64
	// Any is set for an object By without a range.
	Any bool
	// By is the object of a Scaler.
	By manifest.ID
}

// Contains reports whether n is within the range.
func (r *Range) Contains(n int64) bool {
	return r != nil && (r.Min <= n && n <= r.Max || r.Paused != nil && *r.Paused == n)
}

// Within returns the number of replicas to restore when live is outside of the range: last, the last observed number
// within the range (nil for none), or the bound nearest to live. It is never fewer than wanted, the number that the
// autoscaler wanted last, zero when unknown. The manifest's own number does not count: the autoscaler has left it, and
// fewer replicas than the load needs are an outage.
func (r *Range) Within(live int64, last *int64, wanted int64) int64 {
	n := live
	if last != nil {
		n = *last
	}
	return min(max(n, wanted, r.Min), max(r.Max, r.Min))
}

// String returns "HorizontalPodAutoscaler web/podinfo sets 2 to 5 replicas".
func (r *Range) String() string {
	switch {
	case r.Any:
		return fmt.Sprintf("%s sets the number of replicas", r.By)
	case r.Paused != nil:
		return fmt.Sprintf("%s sets %d to %d replicas, and is paused at %d", r.By, r.Min, r.Max, *r.Paused)
	}
	return fmt.Sprintf("%s sets %d to %d replicas", r.By, r.Min, r.Max)
}
