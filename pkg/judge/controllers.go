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
