package report

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
)

// Whether a release is locked, in a word.
const (
	LockedYes       = "yes"
	LockedNo        = "no"
	LockedDetect    = "detect"
	LockedSuspended = "suspended"
	LockedUnknown   = "unknown"
)

// LockState returns the state of the lock in a word. It is unknown until an operator has written the status, and after
// the end of the operator where the conditions are outdated by that.
func LockState(hr *v1alpha1.HelmRelease, now time.Time) string {
	locked := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionLocked)
	switch {
	case locked == nil:
		return LockedUnknown
	case locked.Status == metav1.ConditionTrue:
		return LockedYes
	case hr.Spec.SuspendedAt(now), locked.Reason == v1alpha1.ReasonInWindow:
		return LockedSuspended
	case locked.Status == metav1.ConditionUnknown:
		return LockedUnknown
	case locked.Reason == v1alpha1.ReasonDetectOnly:
		return LockedDetect
	}
	return LockedNo
}

// GuardMissing reports whether a HelmRelease requests a guard that is not in force.
func GuardMissing(hr *v1alpha1.HelmRelease) bool {
	return hr.Spec.Guard.IsOn() &&
		!meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionGuarded)
}

// LockWords returns the words for a LockState, for use before a colon.
func LockWords(state string) string {
	switch state {
	case LockedYes:
		return "locked"
	case LockedDetect:
		return "watched (mode Detect)"
	case LockedUnknown:
		return "not looked at"
	}
	return "not locked"
}

// Ready returns reason and message of the Ready condition, and the time of the last transition among the conditions
// with that reason. Ready alone does not suffice: it stays True when a locked release is suspended.
func Ready(hr *v1alpha1.HelmRelease) (reason, message string, since time.Time) {
	condition := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionReady)
	if condition == nil {
		return "", "no operator has looked at it yet", hr.CreationTimestamp.Time
	}
	since = condition.LastTransitionTime.Time
	for _, c := range hr.Status.Conditions {
		if c.Reason == condition.Reason && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return condition.Reason, condition.Message, since
}

// SuspendedFor returns the end and the reason of a suspension. The text begins with a space.
func SuspendedFor(hr *v1alpha1.HelmRelease) string {
	text := " until it is resumed"
	locked := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionLocked)
	switch w := hr.Status.Window; {
	case hr.Spec.Suspend:
	case locked != nil && locked.Reason == v1alpha1.ReasonInWindow && w != nil:
		return " until " + Time(w.End.Time) + " (spec.windows)"
	case hr.Spec.SuspendUntil != nil:
		text = " until " + Time(hr.Spec.SuspendUntil.Time)
	}
	if reason := hr.Annotations[v1alpha1.SuspendReasonAnnotation]; reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

// Additions returns the number of objects with additions in words. Scope Declared leaves those alone.
func Additions(n int) string {
	if n == 1 {
		return "1 object has additions"
	}
	return fmt.Sprintf("%d objects have additions", n)
}

// Known returns the number of objects with known drift in words.
func Known(n int) string {
	if n == 1 {
		return "1 object drifted as in the baseline"
	}
	return fmt.Sprintf("%d objects drifted as in the baseline", n)
}

// Paths returns JSON pointers in a short form for people; more counts further ones.
func Paths(paths []string, more int) string {
	const most = 3
	changes := make([]drift.Change, 0, len(paths))
	for _, path := range paths[:min(len(paths), most)] {
		changes = append(changes, drift.Change{Path: path})
	}
	text := drift.Describe(changes, most)
	if more += max(len(paths)-most, 0); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// WhatDrifted describes a change and names its author, for example "spec.replicas changed by kubectl-scale (scale)".
func WhatDrifted(r v1alpha1.DriftRecord) string {
	var text string
	switch r.Operation {
	case v1alpha1.DriftDeleted:
		text = "deleted"
	case v1alpha1.DriftMissing:
		text = "missing"
	case v1alpha1.DriftLeftover:
		text = "left over from an earlier revision"
	case v1alpha1.DriftRemoved:
		text = Paths(r.Paths, r.MorePaths) + " removed"
	case v1alpha1.DriftAdded:
		text = Paths(r.Paths, r.MorePaths) + " added"
	default:
		text = Paths(r.Paths, r.MorePaths) + " changed"
	}
	user := r.Sender()
	if len(r.UserGroups) > 0 {
		user += " (" + strings.Join(r.UserGroups, ", ") + ")"
	}
	switch {
	case r.FieldManager != "":
		text += " by " + r.FieldManager
	case user != "":
		text, user = text+" by user "+user, ""
	}
	if r.Subresource != "" {
		text += " (" + r.Subresource + ")"
	}
	if user != "" {
		text += " as " + user
	}
	return text
}

// Outcome describes the reaction to a drift, for example "reverted after 12ms".
func Outcome(r v1alpha1.DriftRecord) string {
	text := strings.ToLower(string(r.Action))
	if r.Action == v1alpha1.DriftActionDenied {
		text = "denied by the guard"
	}
	if r.Count > 1 {
		text += fmt.Sprintf(", %d times", r.Count)
	}
	if r.Duration == nil {
		return text
	}
	lived := r.Duration.Round(100 * time.Microsecond).String()
	if r.Since == v1alpha1.DriftSinceLocked {
		return text + " " + lived + " after the lock began"
	}
	return text + " after " + lived
}
