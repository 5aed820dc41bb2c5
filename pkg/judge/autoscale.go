package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Range is an inclusive range of replica counts that an autoscaler may choose from.
type Range struct {
	Min, Max int64
	// By is the HorizontalPodAutoscaler.
	By manifest.ID
}

// Contains reports whether n is within the range.
func (r *Range) Contains(n int64) bool { return r != nil && r.Min <= n && n <= r.Max }

// Within returns the number of replicas, within the range, that an object goes back to from live, which is outside
// of it: last, the number within the range that was seen last (nil for none), or the bound nearest to live. It is
// never fewer than wanted, which is what the autoscaler wanted last, zero when that is not known. The manifest's
// own number does not count: the autoscaler has left it, and fewer replicas than the load needs are an outage.
func (r *Range) Within(live int64, last *int64, wanted int64) int64 {
	n := live
	if last != nil {
		n = *last
	}
	return min(max(n, wanted, r.Min), max(r.Max, r.Min))
}

// String returns "HorizontalPodAutoscaler web/podinfo sets 2 to 5 replicas".
func (r *Range) String() string {
	return fmt.Sprintf("%s sets %d to %d replicas", r.By, r.Min, r.Max)
}

// AutoscaledObjects returns the objects whose replica count a HorizontalPodAutoscaler of the same manifest sets, with
// the range that it may choose from. Its choice is not drift: the manifest asked for it. An autoscaler whose own range
// is not protected does not count: the live one does.
func AutoscaledObjects(objects []manifest.Object, protected func(manifest.Object) bool) map[manifest.ID]*Range {
	scaled := map[manifest.ID]*Range{}
	for _, o := range objects {
		if o.ID.GroupKind() != autoscalerKind || !protected(o) {
			continue
		}
		if target, r, ok := scales(o.ID.Namespace, o.ID.Name, o.Content); ok {
			scaled[target] = r
		}
	}
	return scaled
}

// Scalable reports whether a desired object declares a number of replicas, at the path that the schema of its kind
// names.
func Scalable(desired map[string]any, of drift.Schema) bool {
	_, found, err := unstructured.NestedInt64(desired, of.Replicas()...)
	return found && err == nil
}

// HasReplicas reports whether an object is of a kind of Kubernetes that has a number of replicas, declared or not.
func HasReplicas(id manifest.ID) bool {
	switch id.GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Kind: "ReplicationController"}:
		return true
	}
	return false
}

var autoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// scales returns what an autoscaler scales and within which range. The fields it reads are the same in all versions.
func scales(namespace, name string, autoscaler map[string]any) (target manifest.ID, r *Range, ok bool) {
	ref, found, err := unstructured.NestedStringMap(autoscaler, "spec", "scaleTargetRef")
	if err != nil || !found {
		return manifest.ID{}, nil, false
	}
	gv, err := schema.ParseGroupVersion(ref["apiVersion"])
	if err != nil {
		return manifest.ID{}, nil, false
	}
	r = &Range{Min: 1, By: manifest.ID{Group: autoscalerKind.Group, Kind: autoscalerKind.Kind, Namespace: namespace,
		Name: name}}
	if n, ok, err := unstructured.NestedInt64(autoscaler, "spec", "minReplicas"); ok && err == nil {
		r.Min = n
	}
	if n, ok, err := unstructured.NestedInt64(autoscaler, "spec", "maxReplicas"); ok && err == nil {
		r.Max = n
	}
	return manifest.ID{Group: gv.Group, Kind: ref["kind"], Namespace: namespace, Name: ref["name"]}, r, true
}

// Autoscalers knows the live HorizontalPodAutoscalers of the cluster, for those that no manifest declares: created
// by hand, or by KEDA. It keeps a range per autoscaler, the number that it wants, and nothing else. It is safe for
// concurrent use; the zero value is empty.
type Autoscalers struct {
	mu      sync.RWMutex
	targets map[types.NamespacedName]manifest.ID            // by autoscaler
	ranges  map[manifest.ID]map[types.NamespacedName]*Range // by target
	wanted  map[types.NamespacedName]int64                  // by autoscaler: status.desiredReplicas
}

// Set records an autoscaler as it is now and returns the objects for whose replicas that makes a difference.
func (a *Autoscalers) Set(autoscaler *unstructured.Unstructured) []manifest.ID {
	name := types.NamespacedName{Namespace: autoscaler.GetNamespace(), Name: autoscaler.GetName()}
	target, r, ok := scales(name.Namespace, name.Name, autoscaler.Object)
	if !ok {
		return a.Remove(name)
	}
	// KEDA scales between none and one by itself, and has an autoscaler for the rest.
	for _, owner := range autoscaler.GetOwnerReferences() {
		if owner.Kind == "ScaledObject" && strings.HasPrefix(owner.APIVersion, "keda.sh/") {
			r.Min = 0
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.targets == nil {
		a.targets, a.ranges = map[types.NamespacedName]manifest.ID{}, map[manifest.ID]map[types.NamespacedName]*Range{}
		a.wanted = map[types.NamespacedName]int64{}
	}
	wanted, found, err := unstructured.NestedInt64(autoscaler.Object, "status", "desiredReplicas")
	if !found || err != nil {
		wanted = 0
	}
	if known := a.ranges[target][name]; known != nil && *known == *r {
		a.wanted[name] = wanted
		return nil
	}
	changed := append(a.remove(name), target)
	a.wanted[name] = wanted
	if a.ranges[target] == nil {
		a.ranges[target] = map[types.NamespacedName]*Range{}
	}
	a.targets[name], a.ranges[target][name] = target, r
	slices.SortFunc(changed, func(x, y manifest.ID) int { return strings.Compare(x.String(), y.String()) })
	return slices.Compact(changed)
}

// Remove forgets an autoscaler and returns the objects for whose replicas that makes a difference.
func (a *Autoscalers) Remove(name types.NamespacedName) []manifest.ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.remove(name)
}

func (a *Autoscalers) remove(name types.NamespacedName) []manifest.ID {
	target, known := a.targets[name]
	if !known {
		return nil
	}
	delete(a.targets, name)
	delete(a.wanted, name)
	delete(a.ranges[target], name)
	if len(a.ranges[target]) == 0 {
		delete(a.ranges, target)
	}
	return []manifest.ID{target}
}

// Names returns the autoscalers that are known.
func (a *Autoscalers) Names() []types.NamespacedName {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Collect(maps.Keys(a.targets))
}

// Range returns the range within which a live autoscaler may scale an object; nil for none. Of several, which
// Kubernetes does not support, it is the first by name, so that the answer does not depend on the order of events.
func (a *Autoscalers) Range(target manifest.ID) *Range {
	a.mu.RLock()
	defer a.mu.RUnlock()
	_, first := a.first(target)
	return first
}

// Wanted returns how many replicas the autoscaler whose range Range returns wanted last; zero when that is not known.
func (a *Autoscalers) Wanted(target manifest.ID) int64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	name, _ := a.first(target)
	return a.wanted[name]
}

func (a *Autoscalers) first(target manifest.ID) (types.NamespacedName, *Range) {
	var name types.NamespacedName
	var first *Range
	for n, r := range a.ranges[target] {
		if first == nil || r.By.Name < first.By.Name {
			name, first = n, r
		}
	}
	return name, first
}
