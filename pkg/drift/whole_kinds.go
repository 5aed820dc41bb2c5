package drift

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isWholeType reports whether a struct of a built-in kind has one owner as a whole. The Go types mention it only in
// comments, so the names are repeated here; a test compares them with the schemas of server-side apply. For fields that
// are maps, see isSelectorField and isWholeField.
func isWholeType(t reflect.Type) bool {
	return t == reflect.TypeFor[metav1.LabelSelector]() || t == reflect.TypeFor[metav1.OwnerReference]() ||
		wholeTypes[apiType(t)]
}

// isWholeField reports whether the map in the field called name of a struct type has one owner as a whole, though its
// type has not.
func isWholeField(owner reflect.Type, name string) bool {
	return isSelectorField(owner, name) || name == "nodeSelector" && apiType(owner) == "node.Scheduling"
}

// wholeTypes are the struct types with one owner as a whole, by the API group, as it is called in the package path, in
// all versions.
var wholeTypes = map[string]bool{
	"admissionregistration.MatchResources": true, "admissionregistration.NamedRuleWithOperations": true,
	"admissionregistration.ParamKind": true, "admissionregistration.ParamRef": true,
	"admissionregistration.Variable":          true,
	"autoscaling.CrossVersionObjectReference": true,
	"core.ConfigMapKeySelector":               true, "core.EndpointAddress": true, "core.EndpointPort": true,
	"core.EvictionResponder": true, "core.FileKeySelector": true, "core.LocalObjectReference": true,
	"core.NodeSelector":     true,
	"core.NodeSelectorTerm": true, "core.ObjectFieldSelector": true, "core.ObjectReference": true,
	"core.ResourceFieldSelector": true, "core.ScopeSelector": true, "core.SecretKeySelector": true,
	"core.SecretReference": true, "core.TopologySelectorTerm": true, "core.TypedLocalObjectReference": true,
	"discovery.EndpointPort": true,
	"lifecycle.Requester":    true, "lifecycle.TargetResponder": true,
	"networking.IngressClassParametersReference": true, "networking.ServiceBackendPort": true,
	"rbac.RoleRef": true, "rbac.Subject": true,
}
