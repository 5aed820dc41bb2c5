package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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

// scaling is the number of replicas of an object, and the range within which an autoscaler sets it; nil for none.
type scaling struct {
	in     *Input
	active *Range
	path   []string // of the number
}

func (in *Input) scaling() scaling {
	return scaling{in: in, active: ScaledBy(in.Replicas, in.LiveRange), path: in.Schema.Replicas()}
}

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

// Rescales reports whether the number of replicas is among changes. Live autoscalers decide whether it is drift.
func (in *Input) Rescales(changes []drift.Change) bool {
	s := in.scaling()
	return slices.ContainsFunc(changes, func(c drift.Change) bool { return s.isAt(c.Segments()) })
}

// ChosenIn returns the number of replicas of a live object if it is within the range of its autoscaler; nil otherwise.
func (in *Input) ChosenIn(live *unstructured.Unstructured) *int64 {
	s := in.scaling()
	replicas, ok := s.of(live.Object)
	if !ok || !s.active.Contains(replicas) {
		return nil
	}
	return &replicas
}

// isAt reports whether path is that of the number.
func (s scaling) isAt(path []string) bool { return slices.Equal(path, s.path) }

// of returns the number in an object.
func (s scaling) of(object map[string]any) (int64, bool) {
	n, ok, err := unstructured.NestedInt64(object, s.path...)
	return n, ok && err == nil
}

// isLeft reports whether the number is not compared: the manifest leaves it to an autoscaler, it is within the range of
// one, or there may be one.
func (s scaling) isLeft() bool {
	if s.in.ScalersUnknown && s.in.Replicas == nil {
		return true
	}
	if !s.in.Scalable {
		return s.active != nil
	}
	return s.in.ChosenIn(s.in.Live) != nil
}

// rescaled returns the state to restore if the number is neither the declared one nor within the range of the
// autoscaler. Its number is the one within the range nearest to the one that the autoscaler wanted. A number that Helm
// has just written is the declared one, and stays.
func (s scaling) rescaled(desired map[string]any) map[string]any {
	r := s.active
	if !s.in.Scalable || r == nil || r.Min > r.Max {
		return desired
	}
	declared, _ := s.of(desired)
	live, ok := s.of(s.in.Live.Object)
	if !ok || live == declared || r.Contains(live) {
		return desired
	}
	return withNumber(desired, s.path, r.Within(live, s.in.Chosen, s.in.Wanted))
}

// recreated returns the state to create for a deleted object, with the autoscaler's last choice, if any.
func (s scaling) recreated(desired map[string]any) map[string]any {
	if !s.in.Scalable || s.in.Chosen == nil || !s.active.Contains(*s.in.Chosen) {
		return desired
	}
	return withNumber(desired, s.path, *s.in.Chosen)
}

// withNumber returns an object with another number at path. object stays as it is.
func withNumber(object map[string]any, path []string, n int64) map[string]any {
	changed := runtime.DeepCopyJSON(object)
	if err := unstructured.SetNestedField(changed, n, path...); err != nil {
		return object // a value on the way is no map, so the manifest declares no number
	}
	return changed
}
