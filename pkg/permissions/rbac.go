package permissions

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Subject is the ServiceAccount of the rules, and the name of the granting objects.
type Subject struct{ Name, Namespace, ServiceAccount string }

// Grant returns the rules as objects for the API server: a ClusterRole for cluster-wide rules, a Role for each
// namespace, and their bindings to the subject. They carry apiVersion and kind.
func Grant(rules []Rule, to Subject) []any {
	byNamespace := map[string][]rbacv1.PolicyRule{}
	for _, rule := range rules {
		namespaces := rule.Namespaces
		if len(namespaces) == 0 {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			byNamespace[namespace] = append(byNamespace[namespace], rule.PolicyRule)
		}
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: to.ServiceAccount, Namespace: to.Namespace}}
	var objects []any
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		meta := metav1.ObjectMeta{Name: to.Name, Namespace: namespace}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: to.Name}
		if namespace == "" {
			ref.Kind = "ClusterRole"
			objects = append(objects,
				&rbacv1.ClusterRole{TypeMeta: typeOf("ClusterRole"), ObjectMeta: meta, Rules: byNamespace[namespace]},
				&rbacv1.ClusterRoleBinding{TypeMeta: typeOf("ClusterRoleBinding"), ObjectMeta: meta, RoleRef: ref,
					Subjects: subjects})
			continue
		}
		objects = append(objects,
			&rbacv1.Role{TypeMeta: typeOf("Role"), ObjectMeta: meta, Rules: byNamespace[namespace]},
			&rbacv1.RoleBinding{TypeMeta: typeOf("RoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
	}
	return objects
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
