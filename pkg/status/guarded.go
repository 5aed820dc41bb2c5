package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// guardedCondition reports whether the requested guard of a HelmRelease is in force.
func guardedCondition(v *View, set setter) {
	switch {
	case v.Guard.Reason != "":
		set(v1alpha1.ConditionGuarded, metav1.ConditionFalse, v.Guard.Reason, v.Guard.Message)
	case !v.Guarded:
		set(v1alpha1.ConditionGuarded, metav1.ConditionFalse, v1alpha1.ReasonNotLocked, "the release is not locked")
	case !v.Asked:
		set(v1alpha1.ConditionGuarded, metav1.ConditionFalse, v1alpha1.ReasonGuardNotRegistered,
			"the registration of the guard is being updated for the objects of the release")
	default:
		set(v1alpha1.ConditionGuarded, metav1.ConditionTrue, v1alpha1.ReasonGuarded,
			"the API server asks the guard before it changes or deletes an object of the release")
	}
}
