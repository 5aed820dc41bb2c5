// Package revert turns a judgement into the input of the kernel (pkg/enforce): the object and the bodies of the
// requests for its revert.
package revert

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
)

// Object returns the identity of a locked object.
func Object(o *lock.Object) enforce.Object {
	object := enforce.Object{GVK: o.GVK, GVR: o.GVR, Name: o.ID.Name, Account: o.Account, Title: o.ID.String()}
	if o.Namespaced {
		object.Namespace = o.ID.Namespace
	}
	return object
}

// Creation returns the write that creates an object as desired. owner is the field manager of the release. blank holds
// the values that Helm sends beside the desired state (see manifest.Object).
func Creation(o *lock.Object, desired, blank map[string]any, owner drift.Owner) *enforce.Revert {
	return newRevert(o, content{desired: desired, blank: blank, owner: owner})
}

// Update returns the write that reverts live to the target of a result.
func Update(
	o *lock.Object, live *unstructured.Unstructured, found judge.Result, blank map[string]any,
) *enforce.Revert {
	r := newRevert(o, content{desired: found.Desired, blank: blank, owner: found.Owner, options: found.Options})
	r.Live, r.Owned, r.Target, r.RemovesForeign = live, live, found.Target, found.RemovesForeign
	return r
}

// Amendment returns the write that makes an amendment to live.
func Amendment(
	o *lock.Object, live *unstructured.Unstructured, a drift.Amendment, blank map[string]any, owner drift.Owner,
) *enforce.Revert {
	r := newRevert(o, content{desired: a.Desired, blank: blank, owner: owner, options: a.Options})
	r.Live, r.Owned, r.Target, r.RemovesForeign = live, live, a.Target, a.RemovesForeign
	return r
}

// As sets the field manager of a write.
func As(r *enforce.Revert, manager string) {
	r.Manager = manager
	if c, ok := r.Content.(content); ok { // it is a value: the others of the judgement keep theirs
		c.owner.Manager = manager
		r.Content = c
	}
}

func newRevert(o *lock.Object, c content) *enforce.Revert {
	return &enforce.Revert{Object: Object(o), Desired: drift.Created(c.desired, c.blank), Content: c,
		Manager: c.owner.Manager, ServerSide: c.owner.Operation == metav1.ManagedFieldsOperationApply}
}

// content makes the bodies by the rules of a comparison. Ignored fields of an existing object are not written.
type content struct {
	desired, blank map[string]any
	options        drift.Options
	owner          drift.Owner
}

func (c content) request() drift.Request {
	return drift.Request{Desired: c.desired, Blank: c.blank, Schema: c.options.Schema, Ignore: c.options.Ignore}
}

// Patch is part of enforce.Content. It is a merge patch, except for a target with nulls, which a merge patch cannot
// write.
func (c content) Patch(live, target map[string]any) enforce.Patch {
	if !drift.SetsNull(live, target) {
		return enforce.Patch{Merge: drift.MergePatch(live, target)}
	}
	var patch enforce.Patch
	for _, o := range drift.JSONPatch(live, target) {
		patch.Operations = append(patch.Operations, enforce.Operation(o))
	}
	return patch
}

// Apply is part of enforce.Content.
func (c content) Apply(live, target map[string]any, owned *unstructured.Unstructured) map[string]any {
	var owns func([]string) bool
	if owned != nil {
		owns = c.owner.Applied(owned.GetManagedFields(), c.desired, owned.Object)
	}
	return c.request().Apply(target, live, c.options, owns)
}

// Shares is part of enforce.Content.
func (c content) Shares(now *unstructured.Unstructured, helm string) (shares, unset *fieldpath.Set) {
	found := c.request().Shares(now.GetManagedFields(), now.Object, helm)
	return found.Fields, found.Unset
}

// Alike is part of enforce.Content.
func (c content) Alike(a, b map[string]any) bool {
	options := c.options
	options.Accepted, options.Strict = nil, nil
	return reflect.DeepEqual(drift.Compare(c.desired, a, options).Changes, drift.Compare(c.desired, b, options).Changes)
}
