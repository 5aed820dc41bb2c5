package controller

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

func contentionCondition(v *view, set setter) {
	if v.lock == nil {
		set(v1alpha1.ConditionContended, metav1.ConditionFalse, v1alpha1.ReasonNotLocked, "the release is not locked")
		return
	}
	if len(v.sum.Fights) == 0 {
		set(v1alpha1.ConditionContended, metav1.ConditionFalse, v1alpha1.ReasonNoContention,
			"no writer keeps changing an object back")
		return
	}
	var texts []string
	for _, id := range v.sum.Fights[:min(named, len(v.sum.Fights))] {
		texts = append(texts, id.String()+" is changed again and again"+fighters(v.recent, driftedObject(id)))
	}
	set(v1alpha1.ConditionContended, metav1.ConditionTrue, v1alpha1.ReasonFightDetected,
		strings.Join(texts, "; ")+andMore(len(v.sum.Fights)-len(texts))+
			"; reverts of it wait longer and longer, up to 5 minutes")
}

// fighters says who made the newest changes of an object that have authors, and to what.
func fighters(recent []v1alpha1.DriftRecord, object v1alpha1.DriftedObject) string {
	var texts []string
	var at metav1.MicroTime
	for _, r := range recent {
		if r.Object != object || r.FieldManager == "" || len(texts) > 0 && !r.Time.Equal(&at) {
			continue
		}
		at = r.Time
		texts = append(texts, fmt.Sprintf(" by %s (%s)", r.FieldManager, strings.Join(r.Paths, ", ")))
	}
	return strings.Join(texts, ",")
}
