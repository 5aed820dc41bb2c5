package controller

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/lock"
)

// autoscaler returns the range within which an autoscaler sets the replicas of an object: one of the manifest, or a
// live one; nil for none.
func (rm *remediation) autoscaler(w *lock.Work) *lock.Range {
	if w.Replicas != nil {
		return w.Replicas
	}
	return rm.scalers.Range(w.ID)
}

// chosen returns the number of replicas of an object if it is within the range of its autoscaler; nil otherwise.
func (rm *remediation) chosen(w *lock.Work, live *unstructured.Unstructured) *int64 {
	replicas, ok, err := unstructured.NestedInt64(live.Object, "spec", "replicas")
	if !ok || err != nil || !rm.autoscaler(w).Contains(replicas) {
		return nil
	}
	return &replicas
}

// autoscaled reports whether the replica count of an object is not compared: the manifest leaves it to an
// autoscaler, or it is within the range of one.
func (rm *remediation) autoscaled(w *lock.Work) bool {
	if !w.Scalable {
		return rm.autoscaler(w) != nil
	}
	return rm.chosen(w, w.Live) != nil
}

// rescaled returns what to restore of an object whose replica count is neither the declared one nor within the
// range of its autoscaler: the count within that range that comes nearest to what the autoscaler wanted. A count
// that Helm has just written is the declared one, and stays.
func (rm *remediation) rescaled(w *lock.Work, desired map[string]any) map[string]any {
	r := rm.autoscaler(w)
	if !w.Scalable || r == nil || r.Min > r.Max {
		return desired
	}
	declared, _, _ := unstructured.NestedInt64(desired, "spec", "replicas")
	live, ok, err := unstructured.NestedInt64(w.Live.Object, "spec", "replicas")
	if !ok || err != nil || live == declared || r.Contains(live) {
		return desired
	}
	return lock.WithReplicas(desired, r.Within(live, w.Chosen, rm.scalers.Wanted(w.ID)))
}

// recreatedScaled returns what to create of an object that is gone: with as many replicas as its autoscaler had
// chosen, if it had.
func (rm *remediation) recreatedScaled(w *lock.Work, desired map[string]any) map[string]any {
	r := rm.autoscaler(w)
	if !w.Scalable || w.Chosen == nil || !r.Contains(*w.Chosen) {
		return desired
	}
	return lock.WithReplicas(desired, *w.Chosen)
}
