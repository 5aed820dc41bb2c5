package notify

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/pkg/plain"
)

// maxPauseReason bounds the reason of a pause, in bytes.
const maxPauseReason = 1024

// pauseOf returns the pause of a HelmRelease whose lock has a reason.
func pauseOf(hr *v1alpha1.HelmRelease, reason string) (p evidence.Pause) {
	switch until := hr.Spec.SuspendUntil; {
	case hr.Spec.Suspend:
	case reason == v1alpha1.ReasonInWindow && hr.Status.Window != nil:
		p.Until = utc(&hr.Status.Window.End)
		return p
	case until == nil:
		return p
	default:
		p.Until = utc(until)
	}
	p.Reason = plain.Cut(plain.Line(hr.Annotations[v1alpha1.SuspendReasonAnnotation]), maxPauseReason)
	p.User = plain.Cut(plain.Line(hr.Annotations[v1alpha1.SuspendedByAnnotation]), maxPauseReason)
	field := "f:suspendUntil"
	if hr.Spec.Suspend {
		field = "f:suspend"
	}
	for i := range hr.ManagedFields {
		entry := &hr.ManagedFields[i]
		if entry.Subresource == "" && managers.Owns(entry, field) {
			p.Manager, p.Since = plain.Line(entry.Manager), utc(entry.Time)
		}
	}
	return p
}

func utc(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := t.UTC()
	return &at
}
