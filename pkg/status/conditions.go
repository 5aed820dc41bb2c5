package status

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
)

// conditions returns the conditions of a HelmRelease. Unchanged conditions keep their times.
func conditions(hr *v1alpha1.HelmRelease, v *View) []metav1.Condition {
	out := slices.Clone(hr.Status.Conditions)
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&out, metav1.Condition{Type: kind, Status: status, Reason: reason,
			Message:            plain.Cut(plain.Line(message), v1alpha1.MaxConditionMessageBytes),
			ObservedGeneration: v.Generation})
	}
	ready, reason, message := readiness(v)
	set(v1alpha1.ConditionReady, ready, reason, message)
	lockedCondition(v, reason, message, set)
	driftCondition(v, set)
	contentionCondition(v, set)
	guarded := hr.Spec.Guard
	if v.Lock != nil {
		guarded = v.Lock.Spec.Guard // another one may not be followed yet
	}
	if guarded.IsOn() {
		guardedCondition(v, set)
	} else {
		meta.RemoveStatusCondition(&out, v1alpha1.ConditionGuarded)
	}
	if c := v.Writer; len(hr.Spec.ExpectedWriters) == 0 {
		meta.RemoveStatusCondition(&out, v1alpha1.ConditionExpectedWriter)
	} else if c.Reason != "" {
		set(v1alpha1.ConditionExpectedWriter, c.Status, c.Reason, c.Message)
	}
	stalled, reconciling := progress(v, ready, reason)
	for kind, applies := range map[string]bool{
		v1alpha1.ConditionStalled: stalled, v1alpha1.ConditionReconciling: reconciling,
	} {
		if applies {
			set(kind, metav1.ConditionTrue, reason, message)
		} else {
			meta.RemoveStatusCondition(&out, kind)
		}
	}
	return out
}

// readiness reports whether the release is in the state of its spec, and if not, the most important obstacle.
func readiness(v *View) (metav1.ConditionStatus, string, string) {
	switch {
	case v.Problem.Reason != "":
		return metav1.ConditionFalse, v.Problem.Reason, v.Problem.Message
	case asked(v.Decision.Reason):
		return metav1.ConditionTrue, v.Decision.Reason, v.Decision.Message
	case !v.Decision.Lock:
		return metav1.ConditionFalse, v.Decision.Reason, v.Decision.Message
	case v.Lock == nil:
		return metav1.ConditionFalse, v1alpha1.ReasonLocking, v.Decision.Message
	case v.Decision.Invalid != "":
		return metav1.ConditionFalse, v1alpha1.ReasonInvalidWindow, v.Decision.Invalid +
			"; no window opens, and the release stays locked"
	case len(v.Conflicts) > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonConflict, conflictMessage(v)
	case apierrors.IsForbidden(v.WatchErr):
		return metav1.ConditionFalse, v1alpha1.ReasonForbidden, unwatchedMessage(v)
	case v.WatchErr != nil:
		return metav1.ConditionFalse, v1alpha1.ReasonWatchFailed, apierror.Safe(v.WatchErr)
	}
	if len(v.Denials.Objects) > 0 {
		return metav1.ConditionFalse, v1alpha1.ReasonForbidden, v.Denials.Message()
	}
	if v.Lock.Doubt != "" {
		return doubted(v)
	}
	if p := worst(v, nil); p != "" {
		return metav1.ConditionFalse, p, problems(v, p)
	}
	if len(v.Waiting) > 0 {
		return metav1.ConditionFalse, v1alpha1.ReasonWaitingForKind, waitingMessage(v)
	}
	if v.Sum.Unjudged > 0 {
		return metav1.ConditionFalse, v1alpha1.ReasonLocking, unjudgedMessage(v)
	}
	if v.Lock.Detect {
		return metav1.ConditionTrue, v1alpha1.ReasonDetectOnly,
			fmt.Sprintf("revision %d: %s watched, as declared; drift is only reported", v.Lock.Record.Revision,
				plain.Count(v.Sum.Tracked, "object"))
	}
	return metav1.ConditionTrue, v1alpha1.ReasonLocked, lockedMessage(v)
}

// asked reports whether the reason of a decision is a pause, for which the spec asks.
func asked(reason string) bool {
	return reason == v1alpha1.ReasonSuspended || reason == v1alpha1.ReasonInWindow
}

func problems(v *View, reason string) string {
	return plain.Some(v.problems(func(p lock.Problem) bool { return p.Reason == reason }), "; ",
		func(p lock.ObjectProblem) string { return p.ID.String() + ": " + p.Message })
}

func lockedMessage(v *View) string {
	m := fmt.Sprintf("revision %d locked: %s", v.Lock.Record.Revision, plain.Count(v.Sum.Tracked, "object"))
	if v.Reverted > 0 {
		m += fmt.Sprintf(", %s reverted", plain.Count(v.Reverted, "change"))
	}
	if n := len(v.Skipped); n > 0 {
		s := v.Skipped[0]
		m += fmt.Sprintf("; %d not locked (%s %s: %s%s)", n, s.Kind, s.Name, s.Reason, plain.AndMore(n-1))
	}
	for _, p := range v.Sum.Problems {
		if p.Reason == v1alpha1.ReasonNotRecreated {
			m += "; " + p.ID.String() + ": " + p.Message
			break
		}
	}
	return m
}

func lockedCondition(v *View, reason, message string, set setter) {
	c := v.coverage()
	switch {
	case v.Lock == nil:
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, reason, message)
	case v.Lock.Doubt != "":
		_, reason, message := doubted(v)
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, reason, message)
	case asked(v.Decision.Reason):
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, v.Decision.Reason, v.Decision.Message)
	case v.Lock.Detect:
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, v1alpha1.ReasonDetectOnly,
			"mode Detect: drift is reported, nothing is written")
	case c.reason != "":
		partly := ""
		if c.partly > 0 {
			partly = fmt.Sprintf(", %d in part", c.partly)
		}
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, c.reason, fmt.Sprintf(
			"revision %d: %d of %s protected%s; %s", v.Lock.Record.Revision, c.protected,
			plain.Count(c.declared, "object"), partly, c.message))
	default:
		set(v1alpha1.ConditionLocked, metav1.ConditionTrue, v1alpha1.ReasonLocked,
			fmt.Sprintf("revision %d: %s protected", v.Lock.Record.Revision, plain.Count(c.declared, "object")))
	}
}

func driftCondition(v *View, set setter) {
	c := v.coverage()
	switch {
	case v.Lock == nil && asked(v.Decision.Reason):
		set(v1alpha1.ConditionDrifted, metav1.ConditionUnknown, v1alpha1.ReasonNotLocked,
			"the operator compares no object until the last minute of the pause; helm-locker status and diff do")
	case v.Lock == nil:
		set(v1alpha1.ConditionDrifted, metav1.ConditionUnknown, v1alpha1.ReasonNotLocked,
			"the release is not locked, so its objects are not compared")
	case v.Sum.Drifted > 0:
		reason, of := v1alpha1.ReasonDriftDetected, worst(v, func(p lock.Problem) bool { return p.Drifted })
		if of == v1alpha1.ReasonRevertFailed || of == v1alpha1.ReasonForbidden {
			reason = v1alpha1.ReasonRevertFailed
		}
		set(v1alpha1.ConditionDrifted, metav1.ConditionTrue, reason, problems(v, of))
	case v.WatchErr != nil:
		set(v1alpha1.ConditionDrifted, metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, unwatchedMessage(v))
	case c.compared < c.declared:
		set(v1alpha1.ConditionDrifted, metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, fmt.Sprintf(
			"%d of %s not compared; the others are as declared; %s", c.declared-c.compared,
			plain.Count(c.declared, "object"),
			c.message))
	case v.Reverted > 0:
		set(v1alpha1.ConditionDrifted, metav1.ConditionFalse, v1alpha1.ReasonDriftReverted,
			fmt.Sprintf("no drift now; %s reverted since revision %d was locked%s", plain.Count(v.Reverted, "change"),
				v.Lock.Record.Revision, additions(v)))
	default:
		set(v1alpha1.ConditionDrifted, metav1.ConditionFalse, v1alpha1.ReasonNoDrift,
			"every object is as its manifest declares it"+additions(v))
	}
}

// additions completes a message about drift with the additions ignored in scope Declared.
func additions(v *View) string {
	switch n := v.Sum.Additions; n {
	case 0:
		return ""
	case 1:
		return "; 1 object has additions of others, which scope Declared leaves alone"
	default:
		return fmt.Sprintf("; %d objects have additions of others, which scope Declared leaves alone", n)
	}
}

// stalls reports whether a reason persists until a user acts.
func stalls(reason string) bool {
	switch reason {
	case v1alpha1.ReasonConflict, v1alpha1.ReasonDecodeFailed, v1alpha1.ReasonManifestInvalid,
		v1alpha1.ReasonStuckTransitioning, v1alpha1.ReasonInvalidRule, v1alpha1.ReasonInvalidWindow,
		v1alpha1.ReasonForbidden, v1alpha1.ReasonNotDeployed, v1alpha1.ReasonNoServiceAccount,
		v1alpha1.ReasonRecordNotRead, v1alpha1.ReasonRecordsInTwoStorages,
		v1alpha1.ReasonRecordNotTrusted:
		return true
	}
	return false
}

// progress reports whether the release is stalled or reconciling, by kstatus's definition of these conditions: each is
// present only while it applies.
func progress(v *View, ready metav1.ConditionStatus, reason string) (stalled, reconciling bool) {
	stalled = ready == metav1.ConditionFalse && stalls(reason)
	detected := v.Lock != nil && v.Lock.Detect && (reason == v1alpha1.ReasonDriftDetected ||
		reason == v1alpha1.ReasonBeingDeleted)
	return stalled, ready != metav1.ConditionTrue && !stalled && !detected
}
