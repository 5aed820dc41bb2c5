package controller

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/proof"
)

// admission is the worker of the guard: it decides on each change or deletion of a locked object before the API server
// carries it out. It has no queue, because the API server waits for the answer. Every replica has one, as each has all
// locks. A request without a decision in time passes, and remediation reverts it.
type admission struct {
	*common
	reporter *reporter
	loader   *loader
	others   *claims.Others
	// proof reports, without a write, whether Helm is at work.
	proof *proof.Verifier
	// deciding bounds the concurrent decisions, by the namespace of the release.
	deciding *fair.Semaphore
}

func newAdmission(c *common, rep *reporter, lo *loader, others *claims.Others) *admission {
	return &admission{
		common: c, reporter: rep, loader: lo, others: others, proof: others.Proof,
		deciding: fair.NewSemaphore(fair.Limits{All: 16, Each: 4}),
	}
}

// decide answers one request.
func (ad *admission) decide(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
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

// question is a request about a locked object.
type question struct {
	judge.Admission
	lock   *lock.Lock
	object *lock.Object
	sender string
	groups []string // of the sender
	// slot releases the semaphore after the answer.
	slot func()
}

// question gathers the input for the judgement of a request. It returns nil and a reason for a request that passes
// without.
func (ad *admission) question(
	ctx context.Context, r *admissionv1.AdmissionRequest,
) (*question, judge.AdmissionReason, error) {
	raw := r.Object
	if r.Operation == admissionv1.Delete {
		raw = r.OldObject
	}
	object, err := decodeRaw(raw)
	if err != nil {
		return nil, judge.AdmitUnknown, err
	}
	id, version := ad.objectOf(r, object)
	l := ad.table.Holder(id)
	if l == nil {
		return nil, judge.AdmitUnlocked, nil
	}
	w, owned := l.Peek(id)
	switch {
	case !owned:
		return nil, judge.AdmitUnlocked, nil
	case !isGuarded(l):
		return nil, judge.AdmitOff, nil
	case version != "" && version != w.GVK.Version:
		return nil, judge.AdmitUnknown, fmt.Errorf("asked about version %s, and %s is locked", version, w.GVK.Version)
	}
	if r.SubResource == "scale" && !w.Schema.IsKnown() {
		return nil, judge.AdmitUnknown, fmt.Errorf("the field of a %s that its scale sets is not known", id.Kind)
	}
	slot, err := ad.deciding.Acquire(ctx, l.Release.Namespace)
	if err != nil {
		return nil, judge.AdmitUnknown, err
	}
	q := &question{lock: l, object: w.Object, sender: sender(&r.UserInfo), slot: slot,
		groups: groupsOf(&r.UserInfo)}
	if err := q.fill(ad, r, &w, object); err != nil {
		slot()
		return nil, judge.AdmitUnknown, err
	}
	return q, "", nil
}

// fill sets the input of a question. object is the object after the request, or the deleted object.
func (q *question) fill(
	ad *admission, r *admissionv1.AdmissionRequest, w *lock.Work, object *unstructured.Unstructured,
) error {
	l := q.lock
	in, err := ad.input(l, w)
	if err != nil {
		return err
	}
	q.Admission = judge.Admission{
		Input: in, Locked: l.Release, Guard: l.Spec.Guard,
		Exempt: l.Spec.GuardExempt, Account: w.Account, ReplaceImmutable: l.ReplaceImmutable,
		By:     judge.Requester{User: r.UserInfo.Username, Groups: r.UserInfo.Groups},
		DryRun: r.DryRun != nil && *r.DryRun,
	}
	if r.Operation == admissionv1.Delete {
		q.Before = object
		return nil
	}
	q.After = object
	if r.SubResource == "scale" {
		if q.After, err = scaled(object, w.Schema.Replicas()); err != nil {
			return err
		}
	}
	if q.Harmless() {
		return nil // most requests: no need to decode the old object
	}
	if q.Before, err = decodeRaw(r.OldObject); err != nil || r.SubResource != "scale" {
		return err
	}
	q.Before, err = scaled(q.Before, w.Schema.Replicas())
	return err
}

// objectOf returns the object of a request, and its version. A Scale has no version: it is a part of an object of any
// version.
func (ad *admission) objectOf(
	r *admissionv1.AdmissionRequest, object *unstructured.Unstructured,
) (manifest.ID, string) {
	// Use the metadata of the object, because the request is not always complete: for a Namespace, it has the name of
	// the object as the namespace; for a deletion of a collection, it has no name.
	id := manifest.ID{Group: r.Kind.Group, Kind: r.Kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	if r.SubResource != "scale" {
		return id, r.Kind.Version
	}
	gvr := schema.GroupVersionResource{Group: r.Resource.Group, Version: r.Resource.Version,
		Resource: r.Resource.Resource}
	of, _ := ad.lockedKinds.Of(gvr)
	id.Group, id.Kind = of.Group, of.Kind
	return id, ""
}

func decodeRaw(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	if len(raw.Raw) == 0 {
		return nil, errors.New("a request without the object")
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw.Raw); err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	return u, nil
}

// admit judges the request, and releases the slot, even after a panic.
func (q *question) admit() (judge.AdmissionReason, []drift.Change) {
	defer q.slot()
	return judge.Admit(q.Admission)
}

// answer decides on a question.
func (ad *admission) answer(ctx context.Context, q *question) (guard.Decision, judge.AdmissionReason) {
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
		ad.reporter.denied(q, changes)
	}
	return guard.Decision{Denied: true, Message: q.Refusal(changes)}, reason
}

// mayPass asks the API server whether drift may pass because Helm may have sent the request, or because the namespace
// is being deleted. It returns the reason, empty for no.
//
// Helm stores a record before it touches an object. So if the newest record still is the locked one after the request
// arrived, Helm did not send it.
func (ad *admission) mayPass(ctx context.Context, q *question) judge.AdmissionReason {
	holds, err := ad.proof.Holds(ctx, q.lock.Record)
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
	asked, err := ad.stillAsked(ctx, q.lock)
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
func (ad *admission) namespaceGoes(ctx context.Context, name string) judge.AdmissionReason {
	if name == "" {
		return ""
	}
	namespace, err := ad.clients.Metadata.Resource(namespacesGVR).Get(ctx, name, metav1.GetOptions{})
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
