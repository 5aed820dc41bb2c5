package controller

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
)

// named is the maximum number of objects named in a message. It only counts the others.
const named = 3

// conditions returns the conditions of a HelmRelease. Unchanged conditions keep their times.
func conditions(hr *v1alpha1.HelmRelease, v *view) []metav1.Condition {
	out := slices.Clone(hr.Status.Conditions)
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&out, metav1.Condition{Type: kind, Status: status, Reason: reason,
			Message:            plain.Cut(plain.Line(message), v1alpha1.MaxConditionMessageBytes),
			ObservedGeneration: v.entry.generation})
	}
	ready, reason, message := readiness(v)
	set(v1alpha1.ConditionReady, ready, reason, message)
	lockedCondition(v, reason, message, set)
	driftCondition(v, set)
	contentionCondition(v, set)
	guarded := hr.Spec.Guard
	if v.lock != nil {
		guarded = v.lock.Spec.Guard // another one may not be followed yet
	}
	if guarded != "" && guarded != v1alpha1.GuardOff {
		guardedCondition(v, set)
	} else {
		meta.RemoveStatusCondition(&out, v1alpha1.ConditionGuarded)
	}
	if c := v.entry.writer; len(hr.Spec.ExpectedWriters) == 0 {
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

type setter func(kind string, status metav1.ConditionStatus, reason, message string)

// readiness reports whether the release is in the state of its spec, and if not, the most important obstacle.
func readiness(v *view) (metav1.ConditionStatus, string, string) {
	e := v.entry
	switch {
	case e.problem.reason != "":
		return metav1.ConditionFalse, e.problem.reason, e.problem.message
	case asked(e.decision.Reason):
		return metav1.ConditionTrue, e.decision.Reason, e.decision.Message
	case !e.decision.Lock:
		return metav1.ConditionFalse, e.decision.Reason, e.decision.Message
	case v.lock == nil:
		return metav1.ConditionFalse, v1alpha1.ReasonLocking, e.decision.Message
	case e.decision.Invalid != "":
		return metav1.ConditionFalse, v1alpha1.ReasonInvalidWindow, e.decision.Invalid +
			"; no window opens, and the release stays locked"
	case len(e.conflicts) > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonConflict, conflictMessage(v)
	case apierrors.IsForbidden(v.watchErr):
		return metav1.ConditionFalse, v1alpha1.ReasonForbidden, unwatchedMessage(v)
	case v.watchErr != nil:
		return metav1.ConditionFalse, v1alpha1.ReasonWatchFailed, safeError(v.watchErr)
	}
	if len(e.denials.objects) > 0 {
		return metav1.ConditionFalse, v1alpha1.ReasonForbidden, e.denials.message()
	}
	if v.lock.Doubt != "" {
		return doubted(v)
	}
	if p := worst(v, nil); p != "" {
		return metav1.ConditionFalse, p, problems(v, p)
	}
	if len(e.waiting) > 0 {
		return metav1.ConditionFalse, v1alpha1.ReasonWaitingForKind, waitingMessage(v)
	}
	if v.sum.Unjudged > 0 {
		return metav1.ConditionFalse, v1alpha1.ReasonLocking, unjudgedMessage(v)
	}
	if v.lock.Detect {
		return metav1.ConditionTrue, v1alpha1.ReasonDetectOnly,
			fmt.Sprintf("revision %d: %s watched, as declared; drift is only reported", v.lock.Record.Revision,
				plain.Count(v.sum.Tracked, "object"))
	}
	return metav1.ConditionTrue, v1alpha1.ReasonLocked, lockedMessage(v)
}

// doubted is readiness for a record that is not trusted, or not yet.
func doubted(v *view) (metav1.ConditionStatus, string, string) {
	if v.entry.doubted {
		return metav1.ConditionFalse, v1alpha1.ReasonRecordNotTrusted, v.lock.Doubt
	}
	return metav1.ConditionFalse, v1alpha1.ReasonLocking,
		fmt.Sprintf("revision %d is compared before it is trusted", v.lock.Record.Revision)
}

// asked reports whether the reason of a decision is a pause, for which the spec asks.
func asked(reason string) bool {
	return reason == v1alpha1.ReasonSuspended || reason == v1alpha1.ReasonInWindow
}

// worst returns the reason of the most important problem, empty for none. A pending revert counts as drift: drift has a
// condition of its own, but the release is not ready either. Only problems that match count; all for nil.
func worst(v *view, match func(lock.Problem) bool) string {
	order := []string{v1alpha1.ReasonForbidden, v1alpha1.ReasonConflict, v1alpha1.ReasonRevertFailed,
		v1alpha1.ReasonDriftDetected,
		v1alpha1.ReasonBeingDeleted}
	for _, reason := range order {
		for _, p := range v.sum.Problems {
			if p.Reason == reason && (match == nil || match(p.Problem)) {
				return reason
			}
		}
	}
	return ""
}

func problems(v *view, reason string) string {
	var texts []string
	matching := 0
	for _, p := range v.sum.Problems {
		if p.Reason != reason {
			continue
		}
		matching++
		if len(texts) < named {
			texts = append(texts, p.ID.String()+": "+p.Message)
		}
	}
	return strings.Join(texts, "; ") + andMore(matching-len(texts))
}

func lockedMessage(v *view) string {
	m := fmt.Sprintf("revision %d locked: %s", v.lock.Record.Revision, plain.Count(v.sum.Tracked, "object"))
	if v.reverted > 0 {
		m += fmt.Sprintf(", %s reverted", plain.Count(v.reverted, "change"))
	}
	if n := len(v.entry.skipped); n > 0 {
		s := v.entry.skipped[0]
		m += fmt.Sprintf("; %d not locked (%s %s: %s%s)", n, s.Kind, s.Name, s.Reason, andMore(n-1))
	}
	for _, p := range v.sum.Problems {
		if p.Reason == v1alpha1.ReasonNotRecreated {
			m += "; " + p.ID.String() + ": " + p.Message
			break
		}
	}
	return m
}

func conflictMessage(v *view) string {
	var texts []string
	for _, cf := range v.entry.conflicts[:min(named, len(v.entry.conflicts))] {
		texts = append(texts, fmt.Sprintf("%s is locked by HelmRelease %s", cf.ID, cf.Owner))
	}
	return strings.Join(texts, "; ") + andMore(len(v.entry.conflicts)-len(texts))
}

func waitingMessage(v *view) string {
	var texts []string
	for gvk, ids := range v.entry.waiting {
		why := "which the API server does not serve: its CustomResourceDefinition is missing"
		if served := v.entry.served[gvk.GroupKind()]; len(served) > 0 {
			why = fmt.Sprintf("a version that the API server does not serve any more; it serves %s: upgrade the "+
				"release to a chart that declares that",
				strings.Join(served, ", "))
		}
		texts = append(texts, fmt.Sprintf("%d of kind %s (%s), %s", len(ids), gvk.Kind, gvk.GroupVersion(), why))
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

func lockedCondition(v *view, reason, message string, set setter) {
	c := v.coverage()
	switch {
	case v.lock == nil:
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, reason, message)
	case v.lock.Doubt != "":
		_, reason, message := doubted(v)
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, reason, message)
	case asked(v.entry.decision.Reason):
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, v.entry.decision.Reason, v.entry.decision.Message)
	case v.lock.Detect:
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, v1alpha1.ReasonDetectOnly,
			"mode Detect: drift is reported, nothing is written")
	case c.reason != "":
		partly := ""
		if c.partly > 0 {
			partly = fmt.Sprintf(", %d in part", c.partly)
		}
		set(v1alpha1.ConditionLocked, metav1.ConditionFalse, c.reason, fmt.Sprintf(
			"revision %d: %d of %s protected%s; %s", v.lock.Record.Revision, c.protected,
			plain.Count(c.declared, "object"), partly, c.message))
	default:
		set(v1alpha1.ConditionLocked, metav1.ConditionTrue, v1alpha1.ReasonLocked,
			fmt.Sprintf("revision %d: %s protected", v.lock.Record.Revision, plain.Count(c.declared, "object")))
	}
}

func driftCondition(v *view, set setter) {
	c := v.coverage()
	switch {
	case v.lock == nil:
		set(v1alpha1.ConditionDrifted, metav1.ConditionUnknown, v1alpha1.ReasonNotLocked,
			"the release is not locked, so its objects are not compared")
	case v.sum.Drifted > 0:
		reason, of := v1alpha1.ReasonDriftDetected, worst(v, func(p lock.Problem) bool { return p.Drifted })
		if of == v1alpha1.ReasonRevertFailed || of == v1alpha1.ReasonForbidden {
			reason = v1alpha1.ReasonRevertFailed
		}
		set(v1alpha1.ConditionDrifted, metav1.ConditionTrue, reason, problems(v, of))
	case v.watchErr != nil:
		set(v1alpha1.ConditionDrifted, metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, unwatchedMessage(v))
	case c.compared < c.declared:
		set(v1alpha1.ConditionDrifted, metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, fmt.Sprintf(
			"%d of %s not compared; the others are as declared; %s", c.declared-c.compared,
			plain.Count(c.declared, "object"),
			c.message))
	case v.reverted > 0:
		set(v1alpha1.ConditionDrifted, metav1.ConditionFalse, v1alpha1.ReasonDriftReverted,
			fmt.Sprintf("no drift now; %s reverted since revision %d was locked%s", plain.Count(v.reverted, "change"),
				v.lock.Record.Revision, additions(v)))
	default:
		set(v1alpha1.ConditionDrifted, metav1.ConditionFalse, v1alpha1.ReasonNoDrift,
			"every object is as its manifest declares it"+additions(v))
	}
}

// additions completes a message about drift with the additions ignored in scope Declared.
func additions(v *view) string {
	switch n := v.sum.Additions; n {
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
func progress(v *view, ready metav1.ConditionStatus, reason string) (stalled, reconciling bool) {
	stalled = ready == metav1.ConditionFalse && stalls(reason)
	detected := v.lock != nil && v.lock.Detect && (reason == v1alpha1.ReasonDriftDetected ||
		reason == v1alpha1.ReasonBeingDeleted)
	return stalled, ready != metav1.ConditionTrue && !stalled && !detected
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; and %d more", n)
}
