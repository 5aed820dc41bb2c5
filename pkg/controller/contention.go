package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
)

// paced describes the course of a fight, and waysOut its possible ends.
const (
	paced   = "it is reverted once a second"
	waysOut = "stop that writer; or change the chart, so that Helm declares the same value or leaves the field out; " +
		"or leave the field to that writer by a rule in spec.ignore"
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
	for _, f := range v.sum.Fights[:min(named, len(v.sum.Fights))] {
		texts = append(texts, f.ID.String()+" is changed again and again"+fighters(v.recent, f))
	}
	set(v1alpha1.ConditionContended, metav1.ConditionTrue, v1alpha1.ReasonFightDetected,
		strings.Join(texts, "; ")+andMore(len(v.sum.Fights)-len(texts))+"; "+paced+". To end this: "+waysOut)
}

// fighters names the newest changes of an object: their authors where known, their paths, and the user of the last
// one if the guard was asked about it. A removal and a deletion have no author.
func fighters(recent []v1alpha1.DriftRecord, f lock.Fight) string {
	var texts []string
	var at metav1.MicroTime
	object, anyone, user := driftedObject(f.ID), "", ""
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

// contested returns the changed paths of the object for its budget. An addition counts as its parent, because its
// writer may choose another key each time; a deletion has the empty path.
func (v *result) contested() []string {
	paths := make([]string, 0, len(v.found.Changes)+1)
	for _, c := range v.found.Changes {
		path := c.Path
		if c.Op == drift.Added {
			path = path[:max(0, strings.LastIndexByte(path, '/'))]
		}
		paths = append(paths, path)
	}
	if v.Live == nil || len(paths) == 0 {
		return append(paths[:0], "")
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
