package judge

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// AutoscaledObjects returns the objects with a replica count set by another object of the same manifest, and the range
// of each. The choice of an autoscaler is not drift: the manifest asked for it. An autoscaler without protection of its
// declared range does not count: the range of the live one does.
func AutoscaledObjects(objects []manifest.Object, protected func(manifest.Object) bool) map[manifest.ID]*Range {
	scaled := map[manifest.ID]*Range{}
	for _, o := range objects {
		target, r, ok := scales(o.ID, o.Content)
		if ok && protected(o) && (scaled[target] == nil || r.before(scaled[target])) {
			scaled[target] = r
		}
	}
	return scaled
}

// Names reports whether scaler is declared with a reference to target, and has its number of replicas set.
func Names(scaler manifest.ID, declared map[string]any, target manifest.ID) bool {
	named, _, ok := scales(scaler, declared)
	return ok && named == target
}

// Scalable reports whether a desired object declares a number of replicas, at the path in the schema of its kind.
func Scalable(desired map[string]any, of drift.Schema) bool {
	_, found, err := unstructured.NestedInt64(desired, of.Replicas()...)
	return found && err == nil
}

// HasReplicas reports whether an object is of a Kubernetes kind with a number of replicas, declared or not.
func HasReplicas(id manifest.ID) bool {
	switch id.GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Kind: "ReplicationController"}:
		return true
	}
	return false
}

// Autoscalers knows the live objects of the Scalers, for those outside of any manifest: created by hand, or by KEDA. It
// keeps the range and the wanted number of each object. It is safe for concurrent use; the zero value is empty.
type Autoscalers struct {
	mu      sync.RWMutex
	targets map[manifest.ID]manifest.ID                 // by autoscaler; guarded by mu
	scalers map[manifest.ID]map[manifest.ID]scalerState // by target and autoscaler; guarded by mu
}

// scalerState is the present state of an autoscaler.
type scalerState struct {
	*Range
	wanted int64 // status.desiredReplicas
}

// Set records the present state of an autoscaler and returns the objects with changed ranges of replicas.
func (a *Autoscalers) Set(autoscaler *unstructured.Unstructured) []manifest.ID {
	id := idOf(autoscaler)
	target, r, ok := scales(id, autoscaler.Object)
	if !ok {
		return a.Remove(id)
	}
	// KEDA scales between none and one by itself, and has an autoscaler for the rest.
	for _, owner := range autoscaler.GetOwnerReferences() {
		if owner.Kind == "ScaledObject" && strings.HasPrefix(owner.APIVersion, "keda.sh/") {
			r.Min = 0
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	known, had := a.scalers[target][id]
	var changed []manifest.ID
	if !had || !reflect.DeepEqual(known.Range, r) {
		changed = append(a.remove(id), target)
	}
	if a.targets == nil {
		a.targets, a.scalers = map[manifest.ID]manifest.ID{}, map[manifest.ID]map[manifest.ID]scalerState{}
	}
	if a.scalers[target] == nil {
		a.scalers[target] = map[manifest.ID]scalerState{}
	}
	a.targets[id] = target
	a.scalers[target][id] = scalerState{r, numberAt(autoscaler.Object, 0, "status", "desiredReplicas")}
	slices.SortFunc(changed, func(x, y manifest.ID) int { return strings.Compare(x.String(), y.String()) })
	return slices.Compact(changed)
}

func idOf(u *unstructured.Unstructured) manifest.ID {
	kind := u.GroupVersionKind()
	return manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Remove forgets an autoscaler and returns the objects with changed ranges of replicas.
func (a *Autoscalers) Remove(id manifest.ID) []manifest.ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.remove(id)
}

func (a *Autoscalers) remove(id manifest.ID) []manifest.ID {
	target, known := a.targets[id]
	if !known {
		return nil
	}
	delete(a.targets, id)
	delete(a.scalers[target], id)
	if len(a.scalers[target]) == 0 {
		delete(a.scalers, target)
	}
	return []manifest.ID{target}
}

// IDs returns the known autoscalers.
func (a *Autoscalers) IDs() []manifest.ID {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Collect(maps.Keys(a.targets))
}

// Range returns the range within which a live autoscaler may scale an object; nil for none. Of several, it is the first
// one in the order of the Scalers and by name, so the order of events does not matter. A scaler without a range counts
// only if trusted accepts it: otherwise every user with the right to create one would own the replicas.
func (a *Autoscalers) Range(target manifest.ID, trusted func(scaler manifest.ID) bool) (first *Range) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, s := range a.scalers[target] {
		if (first == nil || s.before(first)) && (!s.Any || trusted != nil && trusted(s.By)) {
			first = s.Range
		}
	}
	return first
}

// Trusting returns the targets of the autoscalers without a range of their own for which owned is true.
func (a *Autoscalers) Trusting(owned func(scaler manifest.ID) bool) (targets []manifest.ID) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for scaler, target := range a.targets {
		if a.scalers[target][scaler].Any && owned(scaler) {
			targets = append(targets, target)
		}
	}
	return targets
}

// Wanted returns the last number of replicas wanted by the first autoscaler with one; zero for none.
func (a *Autoscalers) Wanted(target manifest.ID) int64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var first scalerState
	for _, s := range a.scalers[target] {
		if s.wanted != 0 && (first.Range == nil || s.before(first.Range)) {
			first = s
		}
	}
	return first.wanted
}
