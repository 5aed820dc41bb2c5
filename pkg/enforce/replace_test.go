package enforce

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestNoKindWithDataIsReplaced(t *testing.T) {
	for _, kind := range []schema.GroupKind{
		{Kind: "Namespace"}, {Kind: "Node"}, {Kind: "PersistentVolume"}, {Kind: "PersistentVolumeClaim"},
		{Kind: "Pod"},
		{Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "ControllerRevision"},
		{Group: "batch", Kind: "CronJob"}, {Group: "batch", Kind: "Job"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Group: "resource.k8s.io", Kind: "ResourceClaim"}, {Group: "storage.k8s.io", Kind: "VolumeAttachment"},
		{Group: "example.com", Kind: "ConfigMap"}, // a custom resource, which its controller may delete data with
	} {
		_, ok := Replaceable(kind)
		check.That(t, !ok, "a %s is replaced", kind)
	}
	_, ok := Replaceable(schema.GroupKind{Kind: "ConfigMap"})
	check.That(t, ok, "a ConfigMap is not replaced")
}
