package drift

import (
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file lists the maps of built-in kinds that are compared as a whole in every scope: selectors, rules. The API
// server treats them as atomic, and an added key changes the meaning of the declared ones. A NetworkPolicy with one
// more label in its selector protects no Pod, and a rule of a ClusterRole with nonResourceURLs grants more than was
// meant. So an addition there is a change of a declared value.
//
// Two selectors are not listed, because others legitimately add to them: that of a Service (Argo Rollouts and Flagger
// shift traffic by it) and those of webhooks (providers of clusters keep webhooks from namespaces of their own).

// isExactField reports whether the map or struct of type t in the field called name of the struct type owner is
// compared as a whole.
func isExactField(owner, t reflect.Type, name string) bool {
	switch owner {
	case reflect.TypeFor[corev1.PodSpec]():
		return name == "nodeSelector"
	case reflect.TypeFor[corev1.ReplicationControllerSpec]():
		// Without one, the API server takes the labels of the template, which may be more than the declared ones.
		return name == "selector"
	case reflect.TypeFor[metav1.LabelSelector]():
		return name == "matchLabels"
	case reflect.TypeFor[admissionv1.MutatingWebhook](), reflect.TypeFor[admissionv1.ValidatingWebhook]():
		return false
	}
	return indirect(t) == reflect.TypeFor[metav1.LabelSelector]()
}

// isSelectorField reports whether the field called name of a struct type is a selector to which others may add. Once
// they change a declared key of it, their additions are removed as well. Such a map has one owner as a whole: its
// restorer becomes the owner of all keys. Otherwise an addition would seem to be Helm's, and stay even in scope Strict.
func isSelectorField(owner reflect.Type, name string) bool {
	return owner == reflect.TypeFor[corev1.ServiceSpec]() && name == "selector"
}

// isExactType reports whether a struct type is compared as a whole everywhere.
func isExactType(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[networkingv1.NetworkPolicyPort](),
		reflect.TypeFor[networkingv1.NetworkPolicyPeer](),
		reflect.TypeFor[networkingv1.IPBlock](),
		reflect.TypeFor[networkingv1.NetworkPolicyIngressRule](),
		reflect.TypeFor[networkingv1.NetworkPolicyEgressRule](),
		reflect.TypeFor[rbacv1.PolicyRule](),
		reflect.TypeFor[corev1.NodeSelectorTerm]():
		return true
	}
	return false
}

// exactDefaultsOf returns the server's defaults in such a struct type.
func exactDefaultsOf(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[networkingv1.NetworkPolicyPort]() {
		return map[string]any{"protocol": string(corev1.ProtocolTCP)}
	}
	return nil
}

// isMergedByApply reports whether a server-side apply merges the list in the field called name of a struct type of a
// built-in kind, against the type's tags, which the strategic merge follows. Such a list is compared as one value, and
// an apply alone can neither remove nor exchange an element. A test compares the table with client-go's schemas of
// server-side apply.
func isMergedByApply(owner reflect.Type, name string) bool {
	return slices.Contains(mergedByApply[apiType(owner)], name)
}

// apiType returns the name of a struct type of Kubernetes' API with its group, such as core.PodSpec: the same for
// all versions.
func apiType(t reflect.Type) string {
	group, found := strings.CutPrefix(t.PkgPath(), "k8s.io/api/")
	if !found {
		return ""
	}
	group, _, _ = strings.Cut(group, "/")
	return group + "." + t.Name()
}

// mergedByApply are these fields by the API group, as it is called in the package path, and the struct type.
var mergedByApply = map[string][]string{
	"admissionregistration.ValidatingAdmissionPolicyBindingSpec": {"validationActions"},
	"batch.PodFailurePolicyOnExitCodesRequirement":               {"values"},
	"core.ContainerRestartRuleOnExitCodes":                       {"values"},
	"core.NodePodPreemptionPolicy":                               {"disableResizePreemption"},
	"core.ResourceRequirements":                                  {"claims"},
	"core.VolumeMount":                                           {"bindMountOptions"},
	"discovery.Endpoint":                                         {"addresses"},
	"flowcontrol.NonResourcePolicyRule":                          {"nonResourceURLs", "verbs"},
	"flowcontrol.ResourcePolicyRule":                             {"apiGroups", "namespaces", "resources", "verbs"},
	"resource.ResourceSliceSpec":                                 {"skipNodeOperations"},
	"scheduling.CompositePodGroupTemplate":                       {"compositePodGroupTemplates", "podGroupTemplates"},
	"scheduling.WorkloadSpec":                                    {"compositePodGroupTemplates", "podGroupTemplates"},
	"storage.CSIDriverSpec":                                      {"volumeLifecycleModes"},
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
