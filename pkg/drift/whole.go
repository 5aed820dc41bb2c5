package drift

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file is about the maps of built-in kinds that have one owner as a whole (x-kubernetes-map-type atomic in the API's
// OpenAPI description; the Go types say it in comments only) and that are not compared as a whole in every scope anyway (see
// exact_kinds.go). In scope Declared they are compared like any map, because controllers add to them: Argo Rollouts to the
// selectors of Services, for example. In scope Strict a foreign owner of such a map has added whatever is in it and not declared.

// isWholeType says whether a struct type is such a map. Of the fields that are maps, those of isSelectorField are.
func isWholeType(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[metav1.LabelSelector](),
		reflect.TypeFor[corev1.NodeSelector](),
		reflect.TypeFor[corev1.ObjectReference](), reflect.TypeFor[corev1.LocalObjectReference](),
		reflect.TypeFor[corev1.TypedLocalObjectReference](), reflect.TypeFor[corev1.SecretReference](),
		reflect.TypeFor[corev1.SecretKeySelector](), reflect.TypeFor[corev1.ConfigMapKeySelector](),
		reflect.TypeFor[corev1.ObjectFieldSelector](), reflect.TypeFor[corev1.ResourceFieldSelector](),
		reflect.TypeFor[corev1.ScopeSelector](), reflect.TypeFor[corev1.TopologySelectorTerm](),
		reflect.TypeFor[networkingv1.ServiceBackendPort](),
		reflect.TypeFor[rbacv1.RoleRef](), reflect.TypeFor[rbacv1.Subject]():
		return true
	}
	return false
}

func (n *node) isWhole() bool { return n != nil && n.whole }

// wholeField takes what is not declared out of a declared map that a foreign manager owns as a whole.
func (s *stripper) wholeField(m *mapMerge, p pair[map[string]any], name string) {
	want, isMap := p.want[name].(map[string]any)
	have, hasMap := p.have[name].(map[string]any)
	if !isMap || !hasMap {
		return
	}
	if v, changed := s.undeclared(want, have); changed {
		m.set(name, v)
	}
}

// undeclared returns have without the keys that want does not have, at any depth. Lists are restored as a whole before.
func (s *stripper) undeclared(want, have map[string]any) (map[string]any, bool) {
	m := mapMerge{live: have, target: have}
	for key, v := range have {
		s.c.push(key)
		declared, found := want[key]
		switch {
		case s.c.ignored() || v == nil:
		case !found:
			if !s.stays(v) && s.remove(v) {
				m.own()
				delete(m.target, key)
			}
		default:
			w, isMap := declared.(map[string]any)
			h, hasMap := v.(map[string]any)
			if isMap && hasMap {
				if inner, changed := s.undeclared(w, h); changed {
					m.set(key, inner)
				}
			}
		}
		s.c.pop()
	}
	return m.target, m.changed
}
