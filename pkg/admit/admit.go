// Package admit decides on the requests to change or delete locked objects, before the API server carries them out.
package admit

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/gather"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/salvage"
)

// Options configure an Admission.
type Options struct {
	Kinds    *lock.Kinds // those of all objects ever locked
	Inputs   *gather.Inputs
	Others   *claims.Others
	Metadata metadata.Interface
	// DryRunner dry-runs reverts, and Spend charges a release with the time.
	DryRunner salvage.DryRunner
	Spend     func(of release.Key, now time.Time, took time.Duration)
	// StillAsked reports whether the HelmRelease still asks for a lock, at a moment after the call.
	StillAsked func(context.Context, *lock.Lock) (bool, error)
	// Denied records a refused request.
	Denied func(*Denial)

	Clock   clock.PassiveClock
	Log     logrus.FieldLogger
	Metrics *metrics.Metrics
}

// Denial is a refused request.
type Denial struct {
	Lock    *lock.Lock
	Object  *lock.Object
	Live    *unstructured.Unstructured // nil when it is unknown
	Changes []drift.Change
	Sender  string
	Groups  []string // of the sender
}

// Admission decides on each change or deletion of a locked object before the API server carries it out. It has no
// queue, because the API server waits for the answer. Every replica has one, as each has all locks. A request without a
// decision in time passes, and is reverted. It is safe for concurrent use.
type Admission struct {
	Options
	// deciding bounds the concurrent decisions, by the namespace of the release.
	deciding *fair.Semaphore
}

// New returns an admission.
func New(o Options) *Admission {
	return &Admission{Options: o, deciding: fair.NewSemaphore(fair.Limits{All: 16, Each: 4})}
}

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
