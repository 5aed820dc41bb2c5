package judge

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

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

func (in *Input) adopted() func(ref map[string]any) bool {
	if in.owners != nil {
		return in.owners
	}
	return Adopted(in.ID)
}
