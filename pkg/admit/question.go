package admit

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// question gathers the input for the judgement of a request. It returns nil and a reason for a request that passes
// without.
func (ad *Admission) question(
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
	l := ad.Inputs.Table.Holder(id)
	if l == nil {
		return nil, judge.AdmitUnlocked, nil
	}
	w, owned := l.Peek(id)
	switch {
	case !owned:
		return nil, judge.AdmitUnlocked, nil
	case !l.Spec.Guard.IsOn():
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
	ad *Admission, r *admissionv1.AdmissionRequest, w *lock.Work, object *unstructured.Unstructured,
) error {
	l := q.lock
	in, err := ad.Inputs.Of(l, w)
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
func (ad *Admission) objectOf(
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
	of, _ := ad.Kinds.Of(gvr)
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
