package drift

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// keptField is a field in which an undeclared value may stay with any owner. Its removal would break something, would
// be refused, or would only make the server set it again.
type keptField struct {
	group, kind string   // of the object; an empty kind means every kind
	path        []string // the field, with all below it; a segment that ends with * stands for all that begin so
}

// keptFields are the kept fields of all kinds. An addition that is removed as a whole loses its kept fields, too: a
// caBundle goes with an added webhook. TakesNoCABundle is an exception.
var keptFields = []keptField{
	// Programs with a leader election write the leader, even into objects of a chart.
	{"", "", []string{"metadata", "annotations", "control-plane.alpha.kubernetes.io/leader"}},
	{"coordination.k8s.io", "Lease", []string{"spec"}},

	// The issuer of a certificate writes it.
	{"admissionregistration.k8s.io", "MutatingWebhookConfiguration",
		[]string{"webhooks", "*", "clientConfig", "caBundle"}},
	{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
		[]string{"webhooks", "*", "clientConfig", "caBundle"}},
	{"apiregistration.k8s.io", "APIService", []string{"spec", "caBundle"}},
	{"apiextensions.k8s.io", "CustomResourceDefinition",
		[]string{"spec", "conversion", "webhook", "clientConfig", "caBundle"}},

	// Allocations of a Service, by the API server or a load balancer's controller. Others rely on these numbers.
	{"", "Service", []string{"spec", "clusterIP"}},
	{"", "Service", []string{"spec", "clusterIPs"}},
	{"", "Service", []string{"spec", "ports", "*", "nodePort"}},
	{"", "Service", []string{"spec", "healthCheckNodePort"}},
	{"", "Service", []string{"spec", "ipFamilies"}},
	{"", "Service", []string{"spec", "loadBalancerIP"}},
	{"", "Service", []string{"spec", "loadBalancerClass"}},

	// Binding of volumes. Nearly all other fields of these specs can be set only once, by the creator of the object.
	{"", "PersistentVolumeClaim", []string{"spec"}},
	{"", "PersistentVolumeClaim", []string{"metadata", "annotations", "pv.kubernetes.io/*"}},
	{"", "PersistentVolumeClaim", []string{"metadata", "annotations", "volume.kubernetes.io/*"}},
	{"", "PersistentVolumeClaim", []string{"metadata", "annotations", "volume.beta.kubernetes.io/*"}},
	{"", "PersistentVolume", []string{"spec"}},
	{"", "PersistentVolume", []string{"metadata", "annotations", "pv.kubernetes.io/*"}},
	{"", "PersistentVolume", []string{"metadata", "annotations", "volume.kubernetes.io/*"}},

	// Likewise, the API server refuses to remove these fields, which are set at creation.
	{"", "Pod", []string{"spec"}},
	{"", "Secret", []string{"type"}},
	{"batch", "Job", []string{"spec", "selector"}},
	{"batch", "Job", []string{"spec", "template"}},
	{"batch", "Job", []string{"spec", "completions"}},
	{"batch", "Job", []string{"spec", "completionMode"}},
	{"batch", "Job", []string{"spec", "manualSelector"}},
	{"batch", "Job", []string{"spec", "managedBy"}},
	{"batch", "Job", []string{"spec", "podFailurePolicy"}},
	{"batch", "Job", []string{"spec", "successPolicy"}},
	{"apps", "*", []string{"spec", "selector"}},
	{"apps", "StatefulSet", []string{"spec", "serviceName"}},
	{"apps", "StatefulSet", []string{"spec", "podManagementPolicy"}},
	{"apps", "StatefulSet", []string{"spec", "volumeClaimTemplates"}},
	{"storage.k8s.io", "StorageClass", []string{"parameters"}},
	{"storage.k8s.io", "StorageClass", []string{"reclaimPolicy"}},
	{"storage.k8s.io", "StorageClass", []string{"volumeBindingMode"}},
	{"scheduling.k8s.io", "PriorityClass", []string{"preemptionPolicy"}},
	{"networking.k8s.io", "IngressClass", []string{"spec", "controller"}},

	// Namespaces are finalized through a subresource, and the server labels each with its name.
	{"", "Namespace", []string{"spec", "finalizers"}},
	{"", "Namespace", []string{"metadata", "labels", "kubernetes.io/metadata.name"}},
}

func keptFieldsOf(desired map[string]any) []keptField {
	apiVersion, _ := desired["apiVersion"].(string)
	kind, _ := desired["kind"].(string)
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	var fields []keptField
	for _, f := range keptFields {
		if f.isOf(group, kind) && !(f.isCABundle() && TakesNoCABundle(desired)) {
			fields = append(fields, f)
		}
	}
	if group == "rbac.authorization.k8s.io" && kind == "ClusterRole" && desired["aggregationRule"] != nil {
		fields = append(fields, keptField{path: []string{"rules"}}) // they are made of those of other roles
	}
	return fields
}

// isOf reports whether objects of a kind have the field.
func (f keptField) isOf(group, kind string) bool {
	return f.kind == "" || f.group == group && (f.kind == "*" || f.kind == kind)
}

func (f keptField) isCABundle() bool { return f.path[len(f.path)-1] == "caBundle" }

// TakesNoCABundle reports whether the API server refuses a caBundle beside the declared fields of an APIService, so
// that no controller injects one.
func TakesNoCABundle(desired map[string]any) bool {
	spec, _ := desired["spec"].(map[string]any)
	return spec["insecureSkipTLSVerify"] == true
}

// fallbackFor returns the value in place of an undeclared field that cannot be removed, because the API server would
// keep it: the default at the creation of the object. It is nil for the many other fields, which are just removed.
func fallbackFor(desired map[string]any, path []string) any {
	if desired["kind"] != "Service" || desired["apiVersion"] != "v1" ||
		!slices.Equal(path, []string{"spec", "ipFamilyPolicy"}) {
		return nil
	}
	spec, _ := desired["spec"].(map[string]any)
	if selector, _ := spec["selector"].(map[string]any); spec["clusterIP"] == corev1.ClusterIPNone &&
		len(selector) == 0 {
		return string(corev1.IPFamilyPolicyRequireDualStack)
	}
	return string(corev1.IPFamilyPolicySingleStack)
}

func matches(pattern, segment string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(segment, prefix)
	}
	return pattern == segment
}

// ofKubernetes reports whether a finalizer is one of Kubernetes itself: those have no domain, or kubernetes.io.
func ofKubernetes(finalizer any) bool {
	name, ok := finalizer.(string)
	domain, _, found := strings.Cut(name, "/")
	return ok && (!found || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io"))
}
