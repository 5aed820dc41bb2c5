package permissions

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Object is an object to be locked, as its manifest declares it.
type Object struct {
	manifest.Object
	// Resource is the API server's resource of the kind.
	Resource string
	// Former is set for an object that only earlier revisions declare. It is not watched; but where Helm has failed
	// to delete it, the operator does.
	Former bool
}

// Options are the choices of a set of rules.
type Options struct {
	// Names limits reading, changing and deleting to the objects' names. Then a new object of a later revision is
	// not covered.
	Names bool
	// Storages are where records are read; in Secrets when there are none.
	Storages []release.Storage
	// Resource returns the resource of a kind referenced by an object, an error when the API server does not serve
	// it.
	Resource func(schema.GroupVersionKind) (string, error)
}

type builder struct {
	options Options
	rules   []Rule
	notes   []string
}

func (b *builder) add(rules ...Rule) { b.rules = append(b.rules, rules...) }

func (b *builder) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

func resources(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// in returns where a namespace's rules hold: for a cluster-scoped object, everywhere.
func in(namespace string) []string {
	if namespace == "" {
		return nil
	}
	return []string{namespace}
}
