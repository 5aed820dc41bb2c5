package permissions

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/release"
)

// Verbs on locked objects. Watches are of the whole cluster, one for each kind; create is also for re-creating an
// object deleted too early, delete for deleting an object created too late. No object is replaced as a whole: no
// update.
var (
	watched  = []string{"list", "watch"}
	restored = []string{"get", "patch", "delete"}
	removed  = []string{"get", "delete"}
)

// For returns the rules for locking the objects, beside those of every operator, for releases with records in the
// given namespaces. Notes contain consequences for the user who grants the rules, and gaps in the rules.
func For(recordNamespaces []string, objects []Object, o Options) (rules []Rule, notes []string) {
	b := &builder{options: o}
	if len(o.Storages) == 0 {
		o.Storages = []release.Storage{release.Secrets}
	}
	for _, namespace := range recordNamespaces {
		for _, storage := range o.Storages {
			b.add(Rule{Namespaces: []string{namespace}, PolicyRule: resources("", storage.GVR().Resource, "get")})
		}
	}
	for i := range objects {
		b.object(&objects[i])
	}
	slices.Sort(b.notes)
	return compact(b.rules), slices.Compact(b.notes)
}

func (b *builder) object(o *Object) {
	group, where := o.GVK.Group, in(o.ID.Namespace)
	named := restored
	if o.Former {
		named = removed
	} else {
		b.add(Rule{PolicyRule: resources(group, o.Resource, watched...)})
	}
	rule := resources(group, o.Resource, named...)
	if b.options.Names {
		rule.ResourceNames = []string{o.ID.Name}
	}
	// A creation has no name for RBAC to check.
	b.add(Rule{Namespaces: where, PolicyRule: rule},
		Rule{Namespaces: where, PolicyRule: resources(group, o.Resource, "create")})
	b.subresource(o, rule)
	switch group {
	case rbacv1.GroupName:
		b.access(o)
	case "admissionregistration.k8s.io":
		b.admission(o)
	case "apiregistration.k8s.io":
		b.note("%s: to restore it the operator may have requests to any API group answered by a server of its "+
			"choice, which gets what users send, "+
			"Secrets and tokens included", o.ID)
	case "apiextensions.k8s.io":
		b.conversion(o)
	}
}

// subresource adds the right to restore a declared field that only a subresource writes: see pkg/enforce.
func (b *builder) subresource(o *Object, rule rbacv1.PolicyRule) {
	switch {
	case o.Former:
		return
	case o.ID.GroupKind() == schema.GroupKind{Kind: "Pod"}:
		rule.Resources, rule.Verbs = []string{"pods/resize"}, []string{"patch"}
	case o.ID.GroupKind() == schema.GroupKind{Kind: "Namespace"} && declaresFinalizers(o.Content):
		rule.Resources, rule.Verbs = []string{"namespaces/finalize"}, []string{"update"}
	default:
		return
	}
	b.add(Rule{Namespaces: in(o.ID.Namespace), PolicyRule: rule})
}

func declaresFinalizers(namespace map[string]any) bool {
	spec, _ := namespace["spec"].(map[string]any)
	return spec["finalizers"] != nil
}

// access adds the rights for writing an RBAC object itself.
func (b *builder) access(o *Object) {
	switch o.GVK.Kind {
	case "Role", "ClusterRole":
		b.role(o)
	case "RoleBinding", "ClusterRoleBinding":
		b.binding(o)
	}
}

func (b *builder) role(o *Object) {
	var role rbacv1.ClusterRole // a Role has the same fields, but for the aggregation
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Content, &role); err != nil {
		b.note("%s: its rules cannot be read, so it is not covered: %v", o.ID, err)
		return
	}
	if role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0 {
		// The aggregated rules are unknown, so only escalate is enough. By its name alone: creating would take
		// escalate on all ClusterRoles, since a creation has no name.
		rule := resources(rbacv1.GroupName, o.Resource, "escalate")
		rule.ResourceNames = []string{o.ID.Name}
		b.add(Rule{PolicyRule: rule})
		b.note(
			"%s is aggregated: the operator may change it into anything (escalate), and cannot create it again when "+
				"it is deleted", o.ID,
		)
		return
	}
	for _, rule := range role.Rules {
		b.add(Rule{Namespaces: in(o.ID.Namespace), PolicyRule: rule})
	}
	if len(role.Rules) > 0 {
		b.note("%s: to restore it the operator has to have itself what it grants", o.ID)
	}
}

func (b *builder) binding(o *Object) {
	var binding rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Content, &binding); err != nil {
		b.note("%s: its role cannot be read, so it is not covered: %v", o.ID, err)
		return
	}
	rule := resources(rbacv1.GroupName, strings.ToLower(binding.RoleRef.Kind)+"s", "bind")
	rule.ResourceNames = []string{binding.RoleRef.Name}
	b.add(Rule{Namespaces: in(o.ID.Namespace), PolicyRule: rule})
	where := "in namespace " + o.ID.Namespace
	if o.ID.Namespace == "" {
		where = "in the whole cluster"
	}
	b.note("%s: to restore it the operator may give %s %s to any subject %s", o.ID, binding.RoleRef.Kind,
		binding.RoleRef.Name, where)
}
