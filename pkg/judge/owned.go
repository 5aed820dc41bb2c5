package judge

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
)

// owner returns Helm's field manager on the object. For a drifted object it prefers the one known from the object in
// sync: the ownership metadata of a drifted object may be forged.
func (in *Input) owner(live *unstructured.Unstructured, changes []drift.Change) drift.Owner {
	if in.Owner.Manager != "" && len(changes) > 0 {
		return in.Owner
	}
	if live != nil {
		if owner := drift.ManagedBy(in.managedFieldsOf(live)); owner.Known {
			return owner
		}
	}
	if in.Owner.Manager != "" {
		return in.Owner
	}
	owner := drift.ManagedBy(nil)
	if in.Manager != nil {
		owner.Manager = cmp.Or(in.Manager(), owner.Manager)
	}
	if in.ServerSide {
		owner.Operation = metav1.ManagedFieldsOperationApply
	}
	return owner
}

// owned judges the ownership of an object in sync. Fields of other managers would make Helm's next server-side apply
// fail, so they are drift. Another tool built on Helm may have its share.
func (in *Input) owned(r *Result) {
	if r.State != InSync || r.Unfinished || r.Owner.Operation != metav1.ManagedFieldsOperationApply {
		return
	}
	if r.Changes = r.Owner.Unlike(in.request(r), r.managed, in.Live.Object); len(r.Changes) > 0 {
		r.State, r.Target = Drifted, in.Live.Object
	}
}

func (in *Input) request(r *Result) drift.Request {
	return drift.Request{Desired: r.Desired, Blank: in.Blank, Schema: in.Schema, Ignore: r.Options.Ignore}
}
