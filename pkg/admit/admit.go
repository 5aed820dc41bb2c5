// Package admit decides on the requests to change or delete locked objects, before the API server carries them out.
package admit

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/judge"
)

// Decide answers one request.
func (ad *Admission) Decide(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	begun := ad.Clock.Now()
	q, reason, err := ad.question(ctx, r)
	if err != nil {
		ad.Log.WithField("object", r.Namespace+"/"+r.Name).Debugf("guard: a request passes that cannot be judged: %v",
			apierror.Safe(err))
	}
	var decision guard.Decision
	if q != nil {
		decision, reason = ad.answer(ctx, q)
	}
	result := "allowed"
	switch {
	case decision.Denied:
		result = "denied"
	case decision.Message != "":
		result = "warned"
	}
	ad.Metrics.Guarded(result, string(reason), ad.Clock.Since(begun))
	return decision
}

// admit judges the request, and releases the slot, even after a panic.
func (q *question) admit() (judge.AdmissionReason, []drift.Change) {
	defer q.slot()
	return judge.Admit(q.Admission)
}

// answer decides on a question.
func (ad *Admission) answer(ctx context.Context, q *question) (guard.Decision, judge.AdmissionReason) {
	reason, changes := q.admit()
	if q.Guard == v1alpha1.GuardObserve {
		if reason == judge.StopChange || reason == judge.StopDeletion {
			ad.remember(q, changes)
			reason = judge.AdmitObserved
		}
		return guard.Decision{}, reason
	}
	if reason == judge.AdmitNoDrift {
		if changes = ad.forbidding(ctx, q); len(changes) > 0 {
			reason = judge.StopChange
		}
	}
	if reason != judge.StopChange && reason != judge.StopDeletion {
		return guard.Decision{}, reason
	}
	if pass := ad.mayPass(ctx, q); pass != "" {
		return guard.Decision{}, pass
	}
	if q.Rescales(changes) {
		if reason, changes = ad.rescaled(ctx, q); reason != judge.StopChange {
			return guard.Decision{}, reason
		}
	}
	if q.Guard == v1alpha1.GuardWarn || q.lock.Detect {
		ad.remember(q, changes)
		return guard.Decision{Message: q.Warning(changes, q.lock.Detect)}, reason
	}
	if !q.DryRun {
		ad.Denied(&Denial{Lock: q.lock, Object: q.object, Live: q.Before, Changes: changes, Sender: q.sender,
			Groups: q.groups})
	}
	return guard.Decision{Denied: true, Message: q.Refusal(changes)}, reason
}

// mayPass asks the API server whether drift may pass because Helm may have sent the request, or because the namespace
// is being deleted. It returns the reason, empty for no.
//
// Helm stores a record before it touches an object. So if the newest record still is the locked one after the request
// arrived, Helm did not send it.
func (ad *Admission) mayPass(ctx context.Context, q *question) judge.AdmissionReason {
	holds, err := ad.Others.Proof.Holds(ctx, q.lock.Record)
	switch {
	case err != nil:
		ad.Log.WithField("object", q.ID.String()).
			Debugf("guard: cannot determine whether Helm is at work: %s", apierror.Safe(err))
		return judge.AdmitUnknown
	case !holds:
		return judge.AdmitHelm
	}
	if reason := ad.ofAnother(ctx, q); reason != "" {
		return reason
	}
	if reason := ad.outdated(ctx, q); reason != "" {
		return reason
	}
	if reason := ad.namespaceGoes(ctx, q.ID.Namespace); reason != "" {
		return reason
	}
	asked, err := ad.StillAsked(ctx, q.lock)
	switch {
	case err != nil:
		return judge.AdmitUnknown
	case !asked || q.lock.Closed(): // suspended, switched off or edited a moment ago
		return judge.AdmitUnlocked
	}
	return ""
}

var namespacesGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// namespaceGoes returns the reason to pass a request because the namespace of its object is missing, being deleted or
// unknown. It returns an empty reason for any other namespace.
func (ad *Admission) namespaceGoes(ctx context.Context, name string) judge.AdmissionReason {
	if name == "" {
		return ""
	}
	namespace, err := ad.Metadata.Resource(namespacesGVR).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return judge.AdmitNamespaceGoes
	case err != nil:
		return judge.AdmitUnknown
	case namespace.DeletionTimestamp != nil:
		return judge.AdmitNamespaceGoes
	}
	return ""
}
