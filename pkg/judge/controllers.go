package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// controllersAnnotations are the annotations that the controllers of Kubernetes write, even over declared values. A
// manifest exported from a cluster declares them.
var controllersAnnotations = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}: {"deployment.kubernetes.io/revision"},
	{Group: "apps", Kind: "DaemonSet"}:  {"deprecated.daemonset.template.generation"},
	{Kind: "PersistentVolumeClaim"}: {"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
		"volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/selected-node",
		"volume.kubernetes.io/storage-provisioner"},
	{Kind: "PersistentVolume"}: {"pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/provisioned-by"},
}

// ofControllers returns the names of the declared ones of those annotations.
func ofControllers(id manifest.ID, desired map[string]any) (declared []string) {
	for _, name := range controllersAnnotations[id.GroupKind()] {
		_, found, err := unstructured.NestedFieldNoCopy(desired, "metadata", "annotations", name)
		if found && err == nil {
			declared = append(declared, name)
		}
	}
	return declared
}

// annotated returns a function that recognizes the paths of annotations with one of the names.
func annotated(names []string) func(path []string) bool {
	return func(path []string) bool {
		return len(path) == 3 && path[0] == "metadata" && path[1] == "annotations" && slices.Contains(names, path[2])
	}
}

// adopters are the kinds of Kubernetes' own controllers that adopt objects by a selector: they add an owner reference
// to the object.
var adopters = map[schema.GroupKind]map[schema.GroupKind]bool{
	{Kind: "Pod"}: {
		{Group: "apps", Kind: "ReplicaSet"}: true, {Group: "apps", Kind: "StatefulSet"}: true,
		{Group: "apps", Kind: "DaemonSet"}: true, {Kind: "ReplicationController"}: true,
		{Group: "batch", Kind: "Job"}: true,
	},
	{Group: "apps", Kind: "ReplicaSet"}: {{Group: "apps", Kind: "Deployment"}: true},
	{Group: "apps", Kind: "ControllerRevision"}: {
		{Group: "apps", Kind: "StatefulSet"}: true, {Group: "apps", Kind: "DaemonSet"}: true,
	},
}

// Adopted returns a function that recognizes owner references by the adopting controllers of Kubernetes for the kind;
// nil for a kind without one.
func Adopted(id manifest.ID) func(ref map[string]any) bool {
	by := adopters[id.GroupKind()]
	if by == nil {
		return nil
	}
	return func(ref map[string]any) bool {
		version, _ := ref["apiVersion"].(string)
		kind, _ := ref["kind"].(string)
		gv, err := schema.ParseGroupVersion(version)
		return err == nil && by[gv.WithKind(kind).GroupKind()] && ref["controller"] == true
	}
}
