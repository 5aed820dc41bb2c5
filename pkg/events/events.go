// Package events describes the drift of objects, and the locks of releases: as events, as records of a status, and as
// fields of a log. It has names and paths, and never a value.
package events

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/status"
)

// Event is an event about a HelmRelease or an object: its type, its reason and its message. All events are made in this
// package.
type Event struct{ Type, Reason, Text string }

func normal(reason, format string, args ...any) Event {
	return Event{corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...)}
}

func warning(reason, format string, args ...any) Event {
	return Event{corev1.EventTypeWarning, reason, fmt.Sprintf(format, args...)}
}

// Locked is for a new lock, with its number of protected or watched objects.
func Locked(l *lock.Lock, objects int) Event {
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

// Doubt is for a record that is not enforced, because it is not trusted.
func Doubt(l *lock.Lock) Event {
	return warning(v1alpha1.EventReasonRecordNotTrusted, "%s", l.Doubt)
}

// Unlocked is for a release not to be locked now.
func Unlocked(d lock.Decision) Event {
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

// RulesEnd is for the ignore rules that end at a time.
func RulesEnd(hr *v1alpha1.HelmRelease, end time.Time) Event {
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

// Problem is for a problem of a lock; false when no user has to act on it.
func Problem(p status.Problem) (Event, bool) {
	reason, ok := problemEvents[p.Reason]
	return warning(reason, "%s", p.Message), ok
}

// Conflicts are for objects of a release locked by others: one for each of the first few.
func Conflicts(conflicts []lock.Conflict) (all []Event) {
	for _, cf := range conflicts[:min(plain.MaxNamed, len(conflicts))] {
		all = append(all, warning(v1alpha1.EventReasonConflict, "%s is locked by HelmRelease %s%s", cf.ID,
			cf.Owner, plain.AndMore(len(conflicts)-1)))
	}
	return all
}

// Waiting is for the unserved kinds of a release; false when there are none.
func Waiting(kinds []schema.GroupVersionKind) (Event, bool) {
	names := make([]string, len(kinds))
	for i, gvk := range kinds {
		names[i] = gvk.Kind + "." + gvk.Group
	}
	slices.Sort(names)
	return warning(v1alpha1.EventReasonWaitingForKind, "not served by the API server yet: %s",
		strings.Join(names, ", ")), len(names) > 0
}

// Denials is for the objects outside the rights of a release's account.
func Denials(d status.Denials) Event {
	return warning(v1alpha1.EventReasonForbidden, "%s", d.Message())
}

// Fight is for an object changed again and again by another writer.
func Fight(d *Drift) Event {
	return warning(v1alpha1.EventReasonContended, "%s: %s, again and again; "+status.Paced, d.ID,
		d.account())
}

// Refused is for a revert refused by the API server.
func Refused(d *Drift, p *lock.Problem) Event {
	return warning(v1alpha1.EventReasonRevertFailed, "%s: %s; %s", d.ID, d.account(), p.Message)
}

// RequestDenied is for a user's request refused by the guard.
func RequestDenied(id manifest.ID, p Portion) Event {
	what := "a change of " + drift.Describe(p.Changes, plain.MaxNamed)
	if p.Did == v1alpha1.DriftDeleted {
		what = "its deletion"
	}
	return warning(v1alpha1.EventReasonDenied, "%s: %s by %s was refused", id, what, p.Users[0])
}

// OfDrift returns the events of drift with this life, on the HelmRelease and on the object; false for an action without
// any.
func OfDrift(l *lock.Lock, d *Drift, action v1alpha1.DriftAction, lived Life) (on, of Event, ok bool) {
	e, suffix := Event{Type: corev1.EventTypeNormal}, "; restored "+lived.String()
	switch action {
	case v1alpha1.DriftActionReverted:
		e.Reason = v1alpha1.EventReasonReverted
	case v1alpha1.DriftActionRecreated:
		e.Reason = v1alpha1.EventReasonRecreated
	case v1alpha1.DriftActionReplaced:
		e.Reason = v1alpha1.EventReasonReplaced
		suffix = fmt.Sprintf("; deleted and re-created %s because the field is immutable", lived)
	case v1alpha1.DriftActionPruned:
		e.Reason, suffix = v1alpha1.EventReasonPruned, "; deleted"
	case v1alpha1.DriftActionReported:
		e.Type, e.Reason = corev1.EventTypeWarning, v1alpha1.EventReasonDrifted
		suffix = "; not reverted (mode Detect)"
		if !l.Resumes.IsZero() {
			suffix = "; it will be reverted at " + l.Resumes.UTC().Format(time.RFC3339)
		}
	default:
		return Event{}, Event{}, false
	}
	on, of = e, e
	text := d.account() + suffix
	if d.Forbidding != "" {
		text += "; " + d.Forbidding
	}
	on.Text = fmt.Sprintf("%s: %s", d.ID, text)
	of.Text = text + lockedBy(l)
	return on, of, true
}

// Deletion are for an object with a pending deletion, on the HelmRelease and on the object.
func Deletion(l *lock.Lock, id manifest.ID, p *lock.Problem) (on, of Event) {
	return warning(v1alpha1.EventReasonBeingDeleted, "%s: %s", id, p.Message),
		warning(v1alpha1.EventReasonBeingDeleted, "%s%s", p.Message, lockedBy(l))
}

// lockedBy ends the text of an event on an object.
func lockedBy(l *lock.Lock) string {
	return fmt.Sprintf(" (Helm release %s is locked by HelmRelease %s)", l.Release, l.Key)
}

// PruneRefused is for a failed deletion of an object of an earlier revision.
func PruneRefused(id manifest.ID, err error) Event {
	return warning(v1alpha1.EventReasonRevertFailed,
		"%s is left over from an earlier revision and cannot be deleted: %s", id, apierror.About(id.GroupKind(), err))
}

// The events of a write superseded by Helm's work: the action taken on it.

// Rewritten is for an object that was written again, as the newer revision declares it.
func Rewritten(id manifest.ID, revision int) Event {
	return normal(v1alpha1.EventReasonOvertaken,
		"%s was reverted while Helm began to work; it was written as revision %d declares it", id, revision)
}

// NotRewritten is for an object that cannot be written as the newer revision declares it.
func NotRewritten(id manifest.ID, revision int, err error) Event {
	return warning(v1alpha1.EventReasonOvertaken,
		"%s was reverted while Helm began to work; it cannot be written as revision %d declares it: %s", id, revision,
		apierror.About(id.GroupKind(), err))
}

// RecreatedAgain is for a deleted object that the newer revision declares.
func RecreatedAgain(id manifest.ID, revision int) Event {
	return normal(v1alpha1.EventReasonOvertaken,
		"%s was deleted while Helm began to work; it was created again, as revision %d declares it", id, revision)
}

// TakenBack is for a created object that was deleted again.
func TakenBack(id manifest.ID, why string) Event {
	return normal(v1alpha1.EventReasonOvertaken,
		"%s was re-created while Helm began to work; %s, so it was deleted again", id, why)
}

// NotTakenBack is for a created object that cannot be deleted again.
func NotTakenBack(id manifest.ID, why string, err error) Event {
	return warning(v1alpha1.EventReasonOvertaken,
		"%s was re-created while Helm began to work; %s, but it cannot be deleted again: %s", id, why,
		apierror.About(id.GroupKind(), err))
}

// HoldsData is for a created object that stays, because it holds data.
func HoldsData(id manifest.ID, why string) Event {
	return warning(v1alpha1.EventReasonOvertaken,
		"%s was re-created while Helm began to work; %s, but objects of this kind hold data, so it stays: "+
			"delete it by hand if it is not needed", id, why)
}
