package events

import (
	"reflect"
	"slices"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
)

// NewExemptions returns an event for each number of replicas newly left to an undeclared object. locked is nil for an
// unlocked release.
func NewExemptions(before, now []v1alpha1.Exception, locked *lock.Lock) (all []Event) {
	if locked == nil {
		return nil
	}
	for _, e := range now {
		same := func(other v1alpha1.Exception) bool { return reflect.DeepEqual(e, other) }
		if e.Reason == v1alpha1.ExceptionAutoscaled && !slices.ContainsFunc(before, same) &&
			!slices.ContainsFunc(locked.Exceptions, same) {
			all = append(all, normal(v1alpha1.EventReasonAutoscaled, "%s: %s; that number is left alone",
				e.Object.String(), e.Message))
		}
	}
	return all
}
