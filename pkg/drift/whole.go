package drift

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file is about declared maps and lists with one owner as a whole: atomic ones, for the API server. In scope
// Declared such a map is compared like any other (except those in exact_kinds.go), because controllers add to them:
// Argo Rollouts to the selectors of Services, for example. Of the elements of such a list only the declared fields are
// compared, because the API server defaults the others. In scope Strict a foreign owner of the whole has changed all
// its undeclared fields.

// isWholeType reports whether a struct type of a built-in kind is such a map. The Go types mention it only in comments,
// so the names are repeated here; a test compares them with the schemas of server-side apply. For fields that are maps,
// see isSelectorField and isWholeField.
func isWholeType(t reflect.Type) bool {
	return t == reflect.TypeFor[metav1.LabelSelector]() || t == reflect.TypeFor[metav1.OwnerReference]() ||
		wholeTypes[apiType(t)]
}

// isWholeField reports whether the map in the field called name of a struct type is such a one, though its type is not.
func isWholeField(owner reflect.Type, name string) bool {
	return isSelectorField(owner, name) || name == "nodeSelector" && apiType(owner) == "node.Scheduling"
}

// wholeTypes are these struct types, by the API group, as it is called in the package path, in all versions.
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

func (n *node) isWhole() bool { return n != nil && n.whole }

// isOneValue reports whether an apply replaces the map, also that of a custom resource, as a whole.
func (n *node) isOneValue() bool { return n != nil && (n.whole || n.exact) }

// hasDefaults reports whether the API server may set defaults in such a map. Undeclared keys of a selector are always
// additions of others.
func (n *node) hasDefaults() bool { return n.object != nil && n.object.fields["matchLabels"] == nil }

// wholeValue removes the undeclared parts of a declared map or list that a foreign manager owns as a whole.
func (s *stripper) wholeValue(m *mapMerge, want, have any, name string) {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			if v, changed := s.undeclared(w, h); changed {
				m.set(name, v)
			}
		}
	case []any:
		if h, ok := have.([]any); ok {
			s.wholeList(m, w, h, name)
		}
	}
}

// undeclared returns have without the keys that want lacks, at any depth.
func (s *stripper) undeclared(want, have map[string]any) (map[string]any, bool) {
	m := mapMerge{live: have, target: have}
	for key, v := range have {
		s.c.push(key)
		declared := want[key]
		switch {
		case s.c.ignored() || v == nil:
		case declared != nil:
			s.wholeValue(&m, declared, v, key)
		case !s.stays(v):
			s.takeOut(&m, key, v)
		}
		s.c.pop()
	}
	return m.target, m.changed
}

// wholeList restores a list with all declared content whose elements hold undeclared, unlearnt values: a changed
// default, an added field. No manager owns a part of such a list, so it is written whole as declared, and the API
// server makes the learnt form of it again. Before a default is learnt, it looks like an addition. Then the dry run
// after every first comparison of an object decides.
func (s *stripper) wholeList(m *mapMerge, want, have []any, name string) {
	if s.stays(have) {
		return
	}
	declared := s.c.adopt(want, have)
	if !deepEqual(declared, have) && s.record(Modified, Pointer(s.c.path...)+additionSuffix, have) {
		m.set(name, declared)
	}
}
