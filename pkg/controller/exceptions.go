package controller

import (
	"reflect"
	"slices"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
)

// newExemptions returns an event for each number of replicas newly left to an undeclared object. locked is nil for an
// unlocked release.
func newExemptions(before, now []v1alpha1.Exception, locked *lock.Lock) (events []event) {
	if locked == nil {
		return nil
	}
	for _, e := range now {
		same := func(other v1alpha1.Exception) bool { return reflect.DeepEqual(e, other) }
		if e.Reason == v1alpha1.ExceptionAutoscaled && !slices.ContainsFunc(before, same) &&
			!slices.ContainsFunc(locked.Exceptions, same) {
			events = append(events, exemptEvent(e))
		}
	}
	return events
}

// exceptions returns the current exceptions of a locked release, ordered by object: of the manifest and the spec, of
// live autoscalers, of Jobs that have run, and of managed fields.
func (st *statuses) exceptions(v *view) []v1alpha1.Exception {
	all := slices.Clone(v.lock.Exceptions)
	for id, declared := range v.sum.Scalable {
		live := st.scalers.Known().Range(id, st.trusts(v.lock.Ignore, id))
		if r := judge.ScaledBy(declared, live); r != declared {
			all = append(all, judge.ExceptionOf(id, v1alpha1.ExceptionAutoscaled, r.String(), "/spec/replicas"))
		}
	}
	for _, p := range v.sum.Problems {
		if p.Reason == v1alpha1.ReasonNotRecreated {
			all = append(all, judge.ExceptionOf(p.ID, v1alpha1.ExceptionRunsOnce, p.Message))
		}
	}
	for _, e := range v.sum.Excused {
		all = append(all, judge.ExceptionOf(e.ID, v1alpha1.ExceptionLeftByHelm,
			"differs from the manifest; by its managed fields no one but Helm wrote it since the revision was deployed",
			e.Paths[:min(len(e.Paths), named)]...))
	}
	slices.SortFunc(all, func(a, b v1alpha1.Exception) int {
		return strings.Compare(a.Object.String()+string(a.Reason), b.Object.String()+string(b.Reason))
	})
	return all
}
