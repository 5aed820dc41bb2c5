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
	helm := Helm{Release: in.Release, Manager: in.Manager, ServerSide: in.ServerSide}
	if live != nil {
		if owner := helm.on(live, in.managedFieldsOf(live)); owner.Known || in.Owner.Manager == "" {
			return owner
		}
	}
	if in.Owner.Manager != "" {
		return in.Owner
	}
	return helm.Owner()
}

// Helm is Helm's way to write one release.
type Helm struct {
	// Release is the release that its objects name.
	Release release.Key
	// Manager returns Helm's field manager on the other objects of the release, empty when unknown; nil for unknown.
	Manager func() string
	// ServerSide is set if Helm applies the release server-side.
	ServerSide bool
}

// On returns Helm's field manager on a live object: see drift.ManagedBy. For an object that shows none it is Owner.
func (h Helm) On(live *unstructured.Unstructured) drift.Owner {
	return h.on(live, live.GetManagedFields())
}

// Owner returns Helm's field manager for an object that shows none: that of the other objects. Known is false.
func (h Helm) Owner() drift.Owner {
	manager := ""
	if h.Manager != nil {
		manager = h.Manager()
	}
	return drift.OwnerOf(manager, h.ServerSide)
}

// on is On with the managed fields of the object. A writer that gave another value to
// Helm's metadata, to take the object away from its release, is not Helm; nor is the creator of a replaced object.
func (h Helm) on(live *unstructured.Unstructured, managed []metav1.ManagedFieldsEntry) drift.Owner {
	annotations, lost := live.GetAnnotations(), []string(nil)
	if annotations[manifest.ReleaseNameAnnotation] != h.Release.Name {
		lost = append(lost, managers.ReleaseName)
	}
	if annotations[manifest.ReleaseNamespaceAnnotation] != h.Release.Namespace {
		lost = append(lost, managers.ReleaseNamespace)
	}
	if live.GetLabels()[manifest.ManagedByLabel] != manifest.ManagedByHelm {
		lost = append(lost, managers.ManagedByLabel)
	}
	owner := drift.ManagedBy(managed, lost...)
	if !owner.Known || owner.Replaced(h.Manager, h.ServerSide) {
		return h.Owner()
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
