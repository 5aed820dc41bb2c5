package status

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	var names []string
	matching := 0
	for _, p := range v.Sum.Problems {
		if !unprotected(p.Problem) {
			continue
		}
		if matching++; len(names) < plain.MaxNamed {
			names = append(names, p.ID.String())
		}
	}
	return "except " + strings.Join(names, ", ") + plain.AndMore(matching-len(names))
}

func unwatchedMessage(v *View) string {
	return "objects cannot be watched: " + apierror.Safe(v.WatchErr)
}

func unjudgedMessage(v *View) string {
	return fmt.Sprintf("revision %d: %d of %d objects still to be read", v.Lock.Record.Revision, v.Sum.Unjudged,
		v.Sum.Tracked)
}
