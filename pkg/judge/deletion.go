package judge

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// While the deletion of an object is pending, the object still counts: a RoleBinding grants, a NetworkPolicy opens,
// until the last finalizer is done, and a foreign finalizer is done when its author likes. So its content is compared
// and reverted as always, and the deletion itself is drift, which ends when the object is gone and was created again.

// keepsFinalizers reports whether the finalizers of the live object stay even in scope Strict. To take the last one off
// an object whose deletion is pending completes the deletion. An object that is only declared comes back at once; data
// do not.
func (in *Input) keepsFinalizers() bool {
	return in.Live.GetDeletionTimestamp() != nil && HoldsData(in.ID.GroupKind())
}

func isFinalizer(path []string) bool {
	return len(path) >= 2 && path[0] == "metadata" && path[1] == "finalizers"
}

// holdsData are kinds with whose objects go data, or many other objects.
var holdsData = map[schema.GroupKind]bool{
	{Kind: "Namespace"}: true, {Kind: "PersistentVolume"}: true, {Kind: "PersistentVolumeClaim"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
}

// HoldsData reports whether objects of a kind are never deleted by the operator: with them go data, or many other
// objects. Helm would delete them, but an attempt on Helm's behalf is not worth the risk.
func HoldsData(kind schema.GroupKind) bool { return holdsData[kind] }
