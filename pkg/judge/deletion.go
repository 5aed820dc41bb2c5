package judge

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
)

// While the deletion of an object is pending, the object still has an effect: a RoleBinding grants, a NetworkPolicy
// opens, until the last finalizer is done, and only the author of a foreign finalizer knows when. So the content is
// compared and reverted as always. The deletion itself is drift, and ends when the object was created again.

// deletion describes a pending deletion; empty for none, and for one that a rule ignores.
func (in *Input) deletion() string {
	if in.Rules.Deletion() {
		return ""
	}
	return drift.DescribeDeletion(in.Live)
}

// keepsFinalizers reports whether the finalizers of the live object stay even in scope Strict. Removing the last one
// completes a pending deletion. An object without data is re-created at once; data are lost.
func (in *Input) keepsFinalizers() bool {
	return in.Live.GetDeletionTimestamp() != nil && HoldsData(in.ID.GroupKind())
}

func isFinalizer(path []string) bool {
	return len(path) >= 2 && path[0] == "metadata" && path[1] == "finalizers"
}

// holdsData are the kinds whose objects take data, or many other objects, with them.
var holdsData = map[schema.GroupKind]bool{
	{Kind: "Namespace"}: true, {Kind: "PersistentVolume"}: true, {Kind: "PersistentVolumeClaim"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
}

// HoldsData reports whether the operator never deletes objects of a kind: their deletion takes data, or many other
// objects, along. Helm would delete them, but an attempt on Helm's behalf is not worth the risk.
func HoldsData(kind schema.GroupKind) bool { return holdsData[kind] }
