package status

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
)

// Paced describes the course of a fight, and waysOut its possible ends.
const (
	Paced   = "it is reverted once a second"
	waysOut = "stop that writer; or change the chart, so that Helm declares the same value or leaves the field out; " +
		"or leave the field to that writer by a rule in spec.ignore"
)

func contentionCondition(v *View, set setter) {
	if v.Lock == nil {
		set(v1alpha1.ConditionContended, metav1.ConditionFalse, v1alpha1.ReasonNotLocked, "the release is not locked")
		return
	}
	if len(v.Sum.Fights) == 0 {
		set(v1alpha1.ConditionContended, metav1.ConditionFalse, v1alpha1.ReasonNoContention,
			"no writer keeps changing an object back")
		return
	}
	fights := plain.Some(v.Sum.Fights, "; ", func(id manifest.ID) string {
		return id.String() + " is changed again and again" + fighters(v.Recent, id)
	})
	set(v1alpha1.ConditionContended, metav1.ConditionTrue, v1alpha1.ReasonFightDetected,
		fights+"; "+Paced+". To end this: "+waysOut)
}

// fighters names the newest changes of an object: their authors where known, their paths, and the user of the last
// one if the guard was asked about it. A removal and a deletion have no author.
func fighters(recent []v1alpha1.DriftRecord, id manifest.ID) string {
	var texts []string
	var at metav1.MicroTime
	object, anyone, user := judge.ObjectOf(id), "", ""
	for _, r := range recent {
		if r.Object != object || len(texts) > 0 && !r.Time.Equal(&at) {
			continue
		}
		user = cmp.Or(user, r.Sender())
		if r.FieldManager == "" {
			anyone = cmp.Or(anyone, " ("+cmp.Or(strings.Join(r.Paths, ", "), strings.ToLower(string(r.Operation)))+")")
			continue
		}
		at = r.Time
		texts = append(texts, fmt.Sprintf(" by %s (%s)", r.FieldManager, strings.Join(r.Paths, ", ")))
	}
	if len(texts) == 0 {
		texts = append(texts, anyone)
	}
	if user != "" {
		texts = append(texts, " by user "+user)
	}
	return strings.Join(texts, ",")
}
