package status

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
)

// coverage is the number of declared objects of a locked release, and of these the number of compared, of wholly
// protected and of partly protected ones. The reason, a condition reason, and the message explain the difference; they
// are empty without one.
type coverage struct {
	declared, compared, protected, partly int
	reason, message                       string
}

// coverage returns the coverage of the lock of a view. Objects excluded by the manifest or the spec do not count.
func (v *View) coverage() coverage {
	c := coverage{declared: v.Sum.Tracked + len(v.Conflicts) + len(v.Denials.Objects),
		compared: v.Sum.Tracked - v.Sum.Unjudged}
	for _, ids := range v.Waiting {
		c.declared += len(ids)
	}
	refused := 0
	for _, p := range v.Sum.Problems {
		if p.Refused == lock.RefusedFields {
			c.partly++
		}
		switch {
		case uncompared(p.Problem):
			c.compared--
		case unprotected(p.Problem):
			refused++
		}
	}
	c.protected = c.compared - refused
	c.reason, c.message = uncovered(v)
	return c
}

// Protected reports whether there is a lock, and it protects every declared object.
func (v *View) Protected() bool { return v.Lock != nil && v.coverage().reason == "" }

// uncompared reports whether an object with a problem is not compared, because it belongs to another release or is
// unreadable.
func uncompared(p lock.Problem) bool {
	return p.Reason == v1alpha1.ReasonConflict ||
		!p.Drifted && (p.Reason == v1alpha1.ReasonForbidden || p.Reason == v1alpha1.ReasonRevertFailed)
}

// unprotected reports whether an object with a problem is not wholly protected: it is uncompared or not writable, or
// the API server refuses to restore something of it.
func unprotected(p lock.Problem) bool {
	return uncompared(p) || p.Reason == v1alpha1.ReasonForbidden || p.Refused != ""
}

// uncovered returns why a lock does not protect all declared objects; the reason is empty when it does.
func uncovered(v *View) (reason, message string) {
	switch {
	case v.Lock != nil && v.Lock.Doubt != "":
		_, reason, message := doubted(v)
		return reason, message
	case len(v.Conflicts) > 0:
		return v1alpha1.ReasonConflict, conflictMessage(v)
	case apierrors.IsForbidden(v.WatchErr):
		return v1alpha1.ReasonForbidden, unwatchedMessage(v)
	case len(v.Denials.Objects) > 0:
		return v1alpha1.ReasonForbidden, v.Denials.Message()
	}
	if reason := worst(v, unprotected); reason != "" {
		return reason, unprotectedMessage(v)
	}
	switch {
	case len(v.Waiting) > 0:
		return v1alpha1.ReasonWaitingForKind, waitingMessage(v)
	case v.Sum.Unjudged > 0:
		return v1alpha1.ReasonLocking, unjudgedMessage(v)
	}
	return "", ""
}

// unprotectedMessage names the unprotected objects. The API server's errors about them are for Ready only: this message
// goes into notifications, too.
func unprotectedMessage(v *View) string {
	return "except " + plain.Some(v.problems(unprotected), ", ",
		func(p lock.ObjectProblem) string { return p.ID.String() })
}

// problems returns the matching problems of the lock.
func (v *View) problems(match func(lock.Problem) bool) []lock.ObjectProblem {
	return slices.DeleteFunc(slices.Clone(v.Sum.Problems), func(p lock.ObjectProblem) bool { return !match(p.Problem) })
}

func unwatchedMessage(v *View) string {
	return "objects cannot be watched: " + apierror.Safe(v.WatchErr)
}

func unjudgedMessage(v *View) string {
	return fmt.Sprintf("revision %d: %d of %d objects still to be read", v.Lock.Record.Revision, v.Sum.Unjudged,
		v.Sum.Tracked)
}

func conflictMessage(v *View) string {
	return plain.Some(v.Conflicts, "; ", func(cf lock.Conflict) string {
		return fmt.Sprintf("%s is locked by HelmRelease %s", cf.ID, cf.Owner)
	})
}

// doubted is readiness for a record that is not trusted, or not yet.
func doubted(v *View) (metav1.ConditionStatus, string, string) {
	if v.Doubted {
		return metav1.ConditionFalse, v1alpha1.ReasonRecordNotTrusted, v.Lock.Doubt
	}
	return metav1.ConditionFalse, v1alpha1.ReasonLocking,
		fmt.Sprintf("revision %d is compared before it is trusted", v.Lock.Record.Revision)
}

func waitingMessage(v *View) string {
	var texts []string
	for gvk, ids := range v.Waiting {
		why := "which the API server does not serve: its CustomResourceDefinition is missing"
		if served := v.Served[gvk.GroupKind()]; len(served) > 0 {
			why = fmt.Sprintf("a version that the API server does not serve any more; it serves %s: upgrade the "+
				"release to a chart that declares that",
				strings.Join(served, ", "))
		}
		texts = append(texts, fmt.Sprintf("%d of kind %s (%s), %s", len(ids), gvk.Kind, gvk.GroupVersion(), why))
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// worst returns the reason of the most important problem, empty for none. A pending revert counts as drift: drift has a
// condition of its own, but the release is not ready either. Only problems that match count; all for nil.
func worst(v *View, match func(lock.Problem) bool) string {
	for _, reason := range []string{v1alpha1.ReasonForbidden, v1alpha1.ReasonConflict, v1alpha1.ReasonRevertFailed,
		v1alpha1.ReasonDriftDetected, v1alpha1.ReasonBeingDeleted} {
		if slices.ContainsFunc(v.Sum.Problems, func(p lock.ObjectProblem) bool {
			return p.Reason == reason && (match == nil || match(p.Problem))
		}) {
			return reason
		}
	}
	return ""
}
