package judge

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Scaled returns the input with the live autoscalers, nil when unknown. trusted is as in Autoscalers.Range.
func (in Input) Scaled(live *Autoscalers, trusted func(scaler manifest.ID) bool) Input {
	in.ScalersUnknown = live == nil
	if live != nil {
		in.LiveRange, in.Wanted = live.Range(in.ID, trusted), live.Wanted(in.ID)
	}
	return in
}

// Rescales reports whether the number of replicas is among changes. Live autoscalers decide whether it is drift.
func (in *Input) Rescales(changes []drift.Change) bool {
	return slices.ContainsFunc(changes, func(c drift.Change) bool { return in.isReplicas(c.Segments()) })
}

// autoscaler returns the range within which an autoscaler sets the replicas of the object: one of the manifest, or a
// live one; nil for none.
func (in *Input) autoscaler() *Range { return ScaledBy(in.Replicas, in.LiveRange) }

// ScaledBy returns the active range of a declared and a live one; either may be nil. The declared one wins, but with
// the number of a paused live one: the pause is an undeclared annotation, and scope Strict removes it.
func ScaledBy(declared, live *Range) *Range {
	if declared == nil {
		return live
	}
	if live != nil && live.By == declared.By && live.Paused != nil {
		paused := *declared
		paused.Paused = live.Paused
		return &paused
	}
	return declared
}

// ChosenIn returns the number of replicas of a live object if it is within the range of its autoscaler; nil otherwise.
func (in *Input) ChosenIn(live *unstructured.Unstructured) *int64 {
	replicas, ok, err := unstructured.NestedInt64(live.Object, in.Schema.Replicas()...)
	if !ok || err != nil || !in.autoscaler().Contains(replicas) {
		return nil
	}
	return &replicas
}

// autoscaled reports whether the replica count of the object is not compared: the manifest leaves it to an autoscaler,
// it is within the range of one, or there may be one.
func (in *Input) autoscaled() bool {
	if in.ScalersUnknown && in.Replicas == nil {
		return true
	}
	if !in.Scalable {
		return in.autoscaler() != nil
	}
	return in.ChosenIn(in.Live) != nil
}

func (in *Input) isReplicas(path []string) bool { return slices.Equal(path, in.Schema.Replicas()) }

// rescaled returns the state to restore if the replica count is neither the declared one nor within the range of the
// autoscaler. Its count is the one within the range nearest to the number that the autoscaler wanted. A count that Helm
// has just written is the declared one, and stays.
func (in *Input) rescaled(desired map[string]any) map[string]any {
	r := in.autoscaler()
	if !in.Scalable || r == nil || r.Min > r.Max {
		return desired
	}
	declared, _, _ := unstructured.NestedInt64(desired, in.Schema.Replicas()...)
	live, ok, err := unstructured.NestedInt64(in.Live.Object, in.Schema.Replicas()...)
	if !ok || err != nil || live == declared || r.Contains(live) {
		return desired
	}
	return withNumber(desired, in.Schema.Replicas(), r.Within(live, in.Chosen, in.Wanted))
}

// recreatedScaled returns the state to create for a deleted object, with the autoscaler's last choice of replicas, if
// any.
func (in *Input) recreatedScaled(desired map[string]any) map[string]any {
	r := in.autoscaler()
	if !in.Scalable || in.Chosen == nil || !r.Contains(*in.Chosen) {
		return desired
	}
	return withNumber(desired, in.Schema.Replicas(), *in.Chosen)
}

// withNumber returns an object with another number at path. object stays as it is.
func withNumber(object map[string]any, path []string, n int64) map[string]any {
	object = maps.Clone(object)
	if object == nil {
		object = map[string]any{}
	}
	at := object
	for i, field := range path {
		if i == len(path)-1 {
			at[field] = n
			break
		}
		below, _ := at[field].(map[string]any)
		if below = maps.Clone(below); below == nil {
			below = map[string]any{}
		}
		at[field], at = below, below
	}
	return object
}
