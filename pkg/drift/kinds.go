package drift

import (
	"maps"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// This file holds facts about Go types of Kubernetes that their tags lack.

// refineList corrects a list merged by key, the field called name of the struct type owner.
func refineList(owner reflect.Type, name string, n *node) {
	switch owner {
	case reflect.TypeFor[corev1.Container](), reflect.TypeFor[corev1.EphemeralContainerCommon]():
		switch name {
		case "ports":
			n.keys = append(n.keys, mergeKey{field: "protocol", fallback: string(corev1.ProtocolTCP), byValue: true})
			n.siblings = true
			n.unique = []string{"name"}
		case "env":
			// $(NAME) refers to preceding variables. Of two with one name the kubelet takes the last.
			n.ordered, n.lastOne = true, true
		}
	case reflect.TypeFor[corev1.ServiceSpec]():
		if name == "ports" {
			n.keys = append(n.keys, mergeKey{field: "protocol", fallback: string(corev1.ProtocolTCP), byValue: true})
			n.siblings = true
			n.unique = []string{"name", "nodePort"}
		}
	case reflect.TypeFor[corev1.PodSpec]():
		switch name {
		case "containers", "initContainers":
			n.ordered = true // init containers run in this order; the first container is kubectl's default
		case "topologySpreadConstraints":
			n.keys = append(n.keys, mergeKey{field: "whenUnsatisfiable"})
			n.siblings = true
		}
	}
}

// unionsOf returns the exclusive fields of a struct type with the given JSON fields. Fields of elements of an atomic
// list need no mention: such an element is restored whole.
func unionsOf(t reflect.Type, fields map[string]*node) []union {
	members := func(names ...string) []union { return []union{{members: names}} }
	byType := func(discriminator string, names ...string) []union {
		return []union{{members: names, discriminator: discriminator}}
	}
	switch t {
	case reflect.TypeFor[corev1.VolumeSource](),
		reflect.TypeFor[corev1.PersistentVolumeSource](),
		reflect.TypeFor[corev1.ProbeHandler](),
		reflect.TypeFor[corev1.LifecycleHandler](),
		reflect.TypeFor[corev1.EnvVarSource](),
		reflect.TypeFor[networkingv1.IngressBackend](),
		reflect.TypeFor[networkingv1.ServiceBackendPort]():
		return members(slices.Sorted(maps.Keys(fields))...)
	case reflect.TypeFor[corev1.EnvVar]():
		return members("value", "valueFrom")
	case reflect.TypeFor[policyv1.PodDisruptionBudgetSpec]():
		return members("minAvailable", "maxUnavailable")
	case reflect.TypeFor[admissionv1.WebhookClientConfig](), reflect.TypeFor[apiextensionsv1.WebhookClientConfig]():
		return members("url", "service")
	case reflect.TypeFor[appsv1.DeploymentStrategy](),
		reflect.TypeFor[appsv1.StatefulSetUpdateStrategy](),
		reflect.TypeFor[appsv1.DaemonSetUpdateStrategy]():
		return byType("type", "rollingUpdate")
	case reflect.TypeFor[corev1.ServiceSpec]():
		return byType("type", "externalName")
	case reflect.TypeFor[corev1.SeccompProfile](), reflect.TypeFor[corev1.AppArmorProfile]():
		return byType("type", "localhostProfile")
	case reflect.TypeFor[rbacv1.ClusterRole]():
		return byType("rules", "aggregationRule") // by which a controller replaces the rules, again and again
	case reflect.TypeFor[apiextensionsv1.CustomResourceConversion]():
		return byType("strategy", "webhook")
	}
	return nil
}
