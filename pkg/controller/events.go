package controller

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/status"
)

// event is an event about a HelmRelease or an object. Its text has names and paths, and never a value. All events are
// made in this file.
type event struct{ kind, reason, text string }

func normal(reason, format string, args ...any) event {
	return event{corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...)}
}

func warning(reason, format string, args ...any) event {
	return event{corev1.EventTypeWarning, reason, fmt.Sprintf(format, args...)}
}

// lockedEvent is for a new lock, with its number of protected or watched objects.
func lockedEvent(l *lock.Lock, objects int) event {
	if !l.Resumes.IsZero() {
		return normal(v1alpha1.EventReasonSuspended, "the pause ends at %s: drift is reported now, and reverted then",
			l.Resumes.UTC().Format(time.RFC3339))
	}
	mode := "protected"
	if l.Detect {
		mode = "watched; drift is only reported"
	}
	return normal(v1alpha1.EventReasonLocked, "revision %d of Helm release %s: %s %s", l.Record.Revision, l.Release,
		plain.Count(objects, "object"), mode)
}

// doubtEvent is for a record that is not enforced, because it is not trusted.
func doubtEvent(l *lock.Lock) event {
	return warning(v1alpha1.EventReasonRecordNotTrusted, "%s", l.Doubt)
}

// unlockedEvent is for a release not to be locked now.
func unlockedEvent(d lock.Decision) event {
	switch d.Reason {
	case v1alpha1.ReasonSuspended, v1alpha1.ReasonInWindow:
		return normal(v1alpha1.EventReasonSuspended, "%s", d.Message)
	case v1alpha1.ReasonTransitioning:
		return normal(v1alpha1.EventReasonTransitioning, "%s", d.Message)
	case v1alpha1.ReasonStuckTransitioning:
		return warning(v1alpha1.EventReasonStuckTransitioning, "%s", d.Message)
	case v1alpha1.ReasonDecodeFailed:
		return warning(v1alpha1.EventReasonDecodeFailed, "%s", d.Message)
	}
	return normal(v1alpha1.EventReasonUntracked, "%s", d.Message)
}

// rulesEndEvent is for the ignore rules that end at a time.
func rulesEndEvent(hr *v1alpha1.HelmRelease, end time.Time) event {
	var rules []string
	for _, r := range hr.Spec.Ignore {
		if r.Until == nil || !r.Until.Time.Equal(end) {
			continue
		}
		fields := slices.Concat(r.Paths, r.Managers)
		if i := slices.Index(fields, ""); i >= 0 {
			fields[i] = "whole objects"
		}
		if r.Deletion {
			fields = append(fields, "deletions")
		}
		text := strings.Join(fields, ", ")
		if r.Reason != "" {
			text += " (" + r.Reason + ")"
		}
		rules = append(rules, text)
	}
	return normal(v1alpha1.EventReasonIgnoreEnds, "ignored until %s: %s; drift there is reverted then",
		end.UTC().Format(time.RFC3339), strings.Join(rules, "; "))
}

// problemEvents are the reasons of events about problems of a lock, if a user has to solve them.
var problemEvents = map[string]string{
	v1alpha1.ReasonConflict:         v1alpha1.EventReasonConflict,
	v1alpha1.ReasonDecodeFailed:     v1alpha1.EventReasonDecodeFailed,
	v1alpha1.ReasonManifestInvalid:  v1alpha1.EventReasonManifestInvalid,
	v1alpha1.ReasonForbidden:        v1alpha1.EventReasonForbidden,
	v1alpha1.ReasonNoServiceAccount: v1alpha1.EventReasonNoServiceAccount,
	v1alpha1.ReasonUnexpectedWriter: v1alpha1.EventReasonUnexpectedWriter,
}

// problemEvent is for a problem of a lock; false when no user has to act on it.
func problemEvent(p status.Problem) (event, bool) {
	reason, ok := problemEvents[p.Reason]
	return warning(reason, "%s", p.Message), ok
}

// conflictEvents are for objects of a release locked by others: one for each of the first few.
func conflictEvents(conflicts []lock.Conflict) (events []event) {
	for _, cf := range conflicts[:min(plain.MaxNamed, len(conflicts))] {
		events = append(events, warning(v1alpha1.EventReasonConflict, "%s is locked by HelmRelease %s%s", cf.ID,
			cf.Owner, plain.AndMore(len(conflicts)-1)))
	}
	return events
}

// waitingEvent is for the unserved kinds of a release; false when there are none.
func waitingEvent(ld *loaded) (event, bool) {
	kinds := make([]string, 0, len(ld.waiting))
	for gvk := range ld.waiting {
		kinds = append(kinds, gvk.Kind+"."+gvk.Group)
	}
	sort.Strings(kinds)
	return warning(v1alpha1.EventReasonWaitingForKind, "not served by the API server yet: %s",
		strings.Join(kinds, ", ")), len(kinds) > 0
}

// exemptEvent is for a number of replicas left to an object outside the release.
func exemptEvent(e v1alpha1.Exception) event {
	return normal(v1alpha1.EventReasonAutoscaled, "%s: %s; that number is left alone", e.Object.String(), e.Message)
}

// deniedEvent is for the objects outside the rights of a release's account.
func deniedEvent(d status.Denials) event {
	return warning(v1alpha1.EventReasonForbidden, "%s", d.Message())
}

// fightEvent is for an object changed again and again by another writer.
func fightEvent(v *result) event {
	return warning(v1alpha1.EventReasonContended, "%s: %s, again and again; "+status.Paced, v.ID,
		v.account())
}

// refusedEvent is for a revert refused by the API server.
func refusedEvent(v *result, p *lock.Problem) event {
	return warning(v1alpha1.EventReasonRevertFailed, "%s: %s; %s", v.ID, v.account(), p.Message)
}

// requestDeniedEvent is for a user's request refused by the guard.
func requestDeniedEvent(id manifest.ID, p portion) event {
	what := "a change of " + drift.Describe(p.Changes, plain.MaxNamed)
	if p.operation == v1alpha1.DriftDeleted {
		what = "its deletion"
	}
	return warning(v1alpha1.EventReasonDenied, "%s: %s by %s was refused", id, what, p.users[0])
}

// driftEvents are for drift with this life, on the HelmRelease and on the object; false for an action without events.
func driftEvents(l *lock.Lock, v *result, action v1alpha1.DriftAction, lived life) (on, of event, ok bool) {
	e, suffix := event{kind: corev1.EventTypeNormal}, "; restored "+lived.String()
	switch action {
	case v1alpha1.DriftActionReverted:
		e.reason = v1alpha1.EventReasonReverted
	case v1alpha1.DriftActionRecreated:
		e.reason = v1alpha1.EventReasonRecreated
	case v1alpha1.DriftActionReplaced:
		e.reason = v1alpha1.EventReasonReplaced
		suffix = fmt.Sprintf("; deleted and re-created %s because the field is immutable", lived)
	case v1alpha1.DriftActionPruned:
		e.reason, suffix = v1alpha1.EventReasonPruned, "; deleted"
	case v1alpha1.DriftActionReported:
		e.kind, e.reason = corev1.EventTypeWarning, v1alpha1.EventReasonDrifted
		suffix = "; not reverted (mode Detect)"
		if !l.Resumes.IsZero() {
			suffix = "; it will be reverted at " + l.Resumes.UTC().Format(time.RFC3339)
		}
	default:
		return event{}, event{}, false
	}
	on, of = e, e
	text := v.account() + suffix
	if v.forbidding != "" {
		text += "; " + v.forbidding
	}
	on.text = fmt.Sprintf("%s: %s", v.ID, text)
	of.text = text + lockedBy(l)
	return on, of, true
}

// deletionEvents are for an object with a pending deletion, on the HelmRelease and on the object.
func deletionEvents(l *lock.Lock, id manifest.ID, p *lock.Problem) (on, of event) {
	return warning(v1alpha1.EventReasonBeingDeleted, "%s: %s", id, p.Message),
		warning(v1alpha1.EventReasonBeingDeleted, "%s%s", p.Message, lockedBy(l))
}

// lockedBy ends the text of an event on an object.
func lockedBy(l *lock.Lock) string {
	return fmt.Sprintf(" (Helm release %s is locked by HelmRelease %s)", l.Release, l.Key)
}

// pruneRefusedEvent is for a failed deletion of an object of an earlier revision.
func pruneRefusedEvent(id manifest.ID, err error) event {
	return warning(v1alpha1.EventReasonRevertFailed,
		"%s is left over from an earlier revision and cannot be deleted: %s", id, apierror.About(id.GroupKind(), err))
}

// The events of a write superseded by Helm's work: the action taken on it.

func rewrittenEvent(id manifest.ID, revision int) event {
	return normal(v1alpha1.EventReasonOvertaken,
		"%s was reverted while Helm began to work; it was written as revision %d declares it", id, revision)
}

func notRewrittenEvent(id manifest.ID, revision int, err error) event {
	return warning(v1alpha1.EventReasonOvertaken,
		"%s was reverted while Helm began to work; it cannot be written as revision %d declares it: %s", id, revision,
		apierror.About(id.GroupKind(), err))
}

func recreatedAgainEvent(id manifest.ID, revision int) event {
	return normal(v1alpha1.EventReasonOvertaken,
		"%s was deleted while Helm began to work; it was created again, as revision %d declares it", id, revision)
}

func takenBackEvent(id manifest.ID, why string) event {
	return normal(v1alpha1.EventReasonOvertaken,
		"%s was re-created while Helm began to work; %s, so it was deleted again", id, why)
}

func notTakenBackEvent(id manifest.ID, why string, err error) event {
	return warning(v1alpha1.EventReasonOvertaken,
		"%s was re-created while Helm began to work; %s, but it cannot be deleted again: %s", id, why,
		apierror.About(id.GroupKind(), err))
}

func holdsDataEvent(id manifest.ID, why string) event {
	return warning(v1alpha1.EventReasonOvertaken,
		"%s was re-created while Helm began to work; %s, but objects of this kind hold data, so it stays: "+
			"delete it by hand if it is not needed", id, why)
}
