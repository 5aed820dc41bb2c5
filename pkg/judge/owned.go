package judge

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// owner returns Helm's field manager on the object. For a drifted object it prefers the one known from the object in
// sync: the ownership metadata of a drifted object may be forged.
func (in *Input) owner(live *unstructured.Unstructured, changes []drift.Change) drift.Owner {
	if in.Owner.Manager != "" && len(changes) > 0 {
		return in.Owner
	}
	manager := ""
	if in.Manager != nil {
		manager = in.Manager()
	}
	if live != nil {
		owner := helmOf(live, in.managedFieldsOf(live), in.Release)
		if owner.Known && !owner.Replaced(manager, in.ServerSide) {
			return owner
		}
	}
	if in.Owner.Manager != "" {
		return in.Owner
	}
	return drift.OwnerOf(manager, in.ServerSide)
}

// HelmOf returns Helm's field manager on a live object of a release: see drift.ManagedBy.
func HelmOf(live *unstructured.Unstructured, of release.Key) drift.Owner {
	return helmOf(live, live.GetManagedFields(), of)
}

// helmOf is HelmOf with the managed fields of the object. A writer that gave another value to Helm's metadata, to take
// the object away from its release, is not Helm.
func helmOf(live *unstructured.Unstructured, managed []metav1.ManagedFieldsEntry, of release.Key) drift.Owner {
	annotations, lost := live.GetAnnotations(), []string(nil)
	if annotations[manifest.ReleaseNameAnnotation] != of.Name {
		lost = append(lost, managers.ReleaseName)
	}
	if annotations[manifest.ReleaseNamespaceAnnotation] != of.Namespace {
		lost = append(lost, managers.ReleaseNamespace)
	}
	if live.GetLabels()[manifest.ManagedByLabel] != manifest.ManagedByHelm {
		lost = append(lost, managers.ManagedByLabel)
	}
	return drift.ManagedBy(managed, lost...)
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
