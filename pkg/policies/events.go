package policies

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
)

// named is how many reasons an event lists.
const named = 3

// event is an event about a policy. All events are made in this file.
type event struct{ kind, reason, text string }

func normal(reason, format string, args ...any) event {
	return event{corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...)}
}

// appliedEvents are for the writes for a policy.
func appliedEvents(e *effect) (events []event) {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{e.created, "created"}, {e.changed - e.moved, "changed"}, {e.deleted, "deleted"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", plain.Count(part.n, "HelmRelease"), part.what))
		}
	}
	if len(parts) > 0 {
		text := strings.Join(parts, ", ")
		if len(e.why) > 0 {
			text += " (" + strings.Join(e.why[:min(named, len(e.why))], "; ") + ")"
		}
		events = append(events, normal(v1alpha1.EventReasonApplied, "%s", text))
	}
	if e.moved > 0 {
		events = append(events, normal(v1alpha1.EventReasonRolloutBatch, "%s moved from mode Detect to Enforce",
			plain.Count(e.moved, "release")))
	}
	return events
}

// policyProblemEvent is for the reason why a policy is not ready; false for a transient one.
func policyProblemEvent(ready *metav1.Condition) (event, bool) {
	reasons := map[string]string{
		v1alpha1.ReasonInvalidPolicy:      v1alpha1.EventReasonInvalidPolicy,
		v1alpha1.ReasonAcceptanceRequired: v1alpha1.EventReasonAcceptanceRequired,
		v1alpha1.ReasonTooManyReleases:    v1alpha1.EventReasonTooManyReleases,
		v1alpha1.ReasonNameTaken:          v1alpha1.EventReasonNameTaken,
		v1alpha1.ReasonWriteFailed:        v1alpha1.EventReasonWriteFailed,
		v1alpha1.ReasonForbidden:          v1alpha1.EventReasonForbidden,
		v1alpha1.ReasonRolloutStopped:     v1alpha1.EventReasonRolloutStopped,
	}
	reason, ok := reasons[ready.Reason]
	return event{corev1.EventTypeWarning, reason, ready.Message}, ok
}

// rolloutHeldEvent is for a rollout that begins to hold releases because of their drift.
func rolloutHeldEvent(r *v1alpha1.RolloutStatus) event {
	return event{corev1.EventTypeWarning, v1alpha1.EventReasonRolloutHeld, r.Message}
}

// rolloutCompleteEvent is for a rollout that has moved all releases.
func rolloutCompleteEvent(r *v1alpha1.RolloutStatus) event {
	return normal(v1alpha1.EventReasonRolloutComplete, "%s in mode Enforce", plain.Count(r.Enforced, "release"))
}
