package inspect

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Dump is a Source of saved objects, for comparisons without a cluster. Objects outside of the dump count as missing.
type Dump struct {
	objects    map[manifest.ID]*unstructured.Unstructured
	namespaced map[schema.GroupKind]bool
}

// NewDump returns the objects as a source.
func NewDump(objects []*unstructured.Unstructured) *Dump {
	d := &Dump{objects: map[manifest.ID]*unstructured.Unstructured{}, namespaced: map[schema.GroupKind]bool{}}
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		d.objects[manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: object.GetNamespace(),
			Name: object.GetName()}] = object
		d.namespaced[gvk.GroupKind()] = object.GetNamespace() != ""
	}
	return d
}

// clusterScoped are the cluster-scoped kinds of Kubernetes itself, by group.
var clusterScoped = map[string][]string{
	"": {"Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
		"MutatingAdmissionPolicyBinding"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"networking.k8s.io":            {"IngressClass", "IPAddress", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "ResourceSlice", "DeviceTaintRule"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io": {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment",
		"VolumeAttributesClass"},
}

// Scope is part of Source. The saved objects of a kind define its scope, then the tables of Kubernetes' own kinds.
// Other kinds are unknown.
func (d *Dump) Scope() manifest.Scope {
	return func(gvk schema.GroupVersionKind) (bool, error) {
		if namespaced, found := d.namespaced[gvk.GroupKind()]; found {
			return namespaced, nil
		}
		for _, kind := range clusterScoped[gvk.Group] {
			if kind == gvk.Kind {
				return false, nil
			}
		}
		if scheme.Scheme.Recognizes(gvk) {
			return true, nil
		}
		return false, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
}

// Get is part of Source.
func (d *Dump) Get(_ context.Context, o *lock.Object) (*unstructured.Unstructured, error) {
	return d.objects[o.ID], nil
}

// UnknownKind is part of Source.
func (d *Dump) UnknownKind() string { return "no object of this kind was saved" }

// DryRun is part of Source: saved objects have no API server to ask.
func (d *Dump) DryRun(context.Context, *enforce.Revert) (*unstructured.Unstructured, string, error) {
	return nil, "saved objects are compared", nil
}

// Autoscalers is part of Source.
func (d *Dump) Autoscalers(_ context.Context, namespace string) []*unstructured.Unstructured {
	var autoscalers []*unstructured.Unstructured
	for id, object := range d.objects {
		if judge.IsScaler(id) && id.Namespace == namespace {
			autoscalers = append(autoscalers, object)
		}
	}
	return autoscalers
}

// Definition is part of Source.
func (d *Dump) Definition(_ context.Context, gvk schema.GroupVersionKind) map[string]any {
	for id, object := range d.objects {
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		if id.Kind == "CustomResourceDefinition" && group == gvk.Group && kind == gvk.Kind {
			return object.Object
		}
	}
	return nil
}

// Declares is part of Source: the dump has no records of other releases.
func (d *Dump) Declares(context.Context, release.Key, manifest.ID) bool { return false }
