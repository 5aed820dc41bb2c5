package drift

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file is about declared maps and lists that have one owner as a whole: atomic ones, for the API server. In
// scope Declared such a map is compared like any other (but for those in exact_kinds.go), because controllers add
// to them: Argo Rollouts to the selectors of Services, for example. And of the elements of such a list only what is
// declared is compared, for the API server puts its defaults into them. In scope Strict a foreign owner of the
// whole has changed whatever is in it and not declared.

// isWholeType reports whether a struct type of a built-in kind is such a map. The Go types say it in comments only,
// so that the names are here once more; a test compares them with the schemas of server-side apply. Of the fields
// that are maps, those of isSelectorField are, and those of isWholeField.
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

// hasDefaults reports whether the API server may put defaults into such a map. What a selector has beside what is
// declared, somebody has added.
func (n *node) hasDefaults() bool { return n.object != nil && n.object.fields["matchLabels"] == nil }

// wholeValue takes what is not declared out of a declared map or list that a foreign manager owns as a whole.
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

// undeclared returns have without the keys that want does not have, at any depth.
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

// wholeList restores a list that holds what is declared, when something is in its elements that is neither declared
// nor learnt: a default that was changed, a field that was added. No manager owns a part of such a list, so
// all of it is written as it is declared, of which the API server makes the learnt form again. What the API server
// puts in by itself is not told from an addition before it was learnt: then the dry run that every first comparison
// of an object is followed by tells.
func (s *stripper) wholeList(m *mapMerge, want, have []any, name string) {
	if s.stays(have) {
		return
	}
	declared := s.c.adopt(want, have)
	if !deepEqual(declared, have) && s.record(Modified, s.c.additionKey(), fingerprint(have)) {
		m.set(name, declared)
	}
}
