// Package trust decides how far the content of a release record may be enforced: as far as the writer of the record
// could have carried it out without the operator. It is pure: the caller asks the API server for the rights.
package trust

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Digest identifies the parts of a record that decide about writes: its namespace, the release and its namespace, the
// apply method, and the manifest. A change of the status or the description keeps it.
func Digest(recordNamespace string, r *release.Release) string {
	hash := sha256.New()
	for _, part := range []string{recordNamespace, r.Namespace, r.Name, r.ApplyMethod, r.Manifest} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return fmt.Sprintf("sha256:%x", hash.Sum(nil))
}

// Right is one right of a user, in the terms of the API server's authorizer.
type Right struct {
	Verb string `json:"verb"`
	// Resource may have a subresource, as in "namespaces/finalize".
	schema.GroupResource `json:"resource"`
	// Namespace is empty for a cluster-scoped object.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns `bind clusterroles.rbac.authorization.k8s.io "view" in namespace "apps"`.
func (r Right) String() string {
	text := fmt.Sprintf("%s %s %q", r.Verb, r.GroupResource, r.Name)
	if r.Namespace != "" {
		text += fmt.Sprintf(" in namespace %q", r.Namespace)
	}
	return text
}

// Object is the part of a declared object that decides about rights.
type Object struct {
	id       manifest.ID
	resource schema.GroupResource
	keep     bool
	// optedOut is set for an object that the operator does not write, although it is declared.
	optedOut bool
	// content and access are digests of the declaration, and of its part whose change takes grants.
	content, access [sha256.Size]byte
	// grants is the right for the access, beside those for the object; nil for none.
	grants *Right
}

// ObjectOf returns the Object of a declaration. It returns an error for content without a JSON form.
func ObjectOf(o *manifest.Object, resource schema.GroupResource) (Object, error) {
	declared := Object{id: o.ID, resource: resource, keep: o.Keep, optedOut: o.OptedOut}
	var err error
	if declared.content, err = digest(o.Content, o.Blank); err == nil {
		err = declared.setAccess(o)
	}
	if err != nil {
		return Object{}, fmt.Errorf("%s: %w", o.ID, err)
	}
	return declared, nil
}

func digest(parts ...any) (sum [sha256.Size]byte, err error) {
	text, err := json.Marshal(parts)
	return sha256.Sum256(text), err
}

// setAccess sets the right for an object that the API server checks beyond create and patch: escalate for a role, bind
// for a binding. Both suffice without the rights that the role grants, and are needed here even with these: a writer
// with the granted rights alone is trusted once the objects are as declared. The API server checks them at each change,
// even of a label, which may add a role to an aggregated one.
func (o *Object) setAccess(of *manifest.Object) (err error) {
	switch of.ID.GroupKind() {
	case schema.GroupKind{Group: rbacv1.GroupName, Kind: "Role"},
		schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRole"}:
		o.access = o.content
		o.grants = &Right{"escalate", o.resource, of.ID.Namespace, of.ID.Name}
	case schema.GroupKind{Group: rbacv1.GroupName, Kind: "RoleBinding"},
		schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}:
		o.access = o.content
		ref, _ := of.Content["roleRef"].(map[string]any)
		name, _ := ref["name"].(string)
		role := schema.GroupResource{Group: rbacv1.GroupName, Resource: "roles"}
		if ref["kind"] == "ClusterRole" { // the API server accepts no third kind
			role.Resource = "clusterroles"
		}
		o.grants = &Right{"bind", role, of.ID.Namespace, name}
	case schema.GroupKind{Kind: "Namespace"}:
		spec, _ := of.Content["spec"].(map[string]any)
		if spec["finalizers"] == nil {
			return nil
		}
		o.access, err = digest(spec["finalizers"])
		finalize := schema.GroupResource{Resource: "namespaces/finalize"}
		o.grants = &Right{"update", finalize, of.ID.Namespace, of.ID.Name}
	}
	return err
}

// isJudgedByUser reports whether admission treats a kind by the user of the request, so that rights do not show whether
// the user could have written the object.
func isJudgedByUser(kind schema.GroupKind) bool {
	switch kind.Group {
	case "":
		return kind.Kind == "Pod"
	case "certificates.k8s.io":
		return true
	case "admissionregistration.k8s.io":
		return strings.Contains(kind.Kind, "Policy")
	}
	return false
}

// Rights returns the rights for carrying out the difference between two manifests. A new object takes create, and patch
// because an object of that name may exist; a changed one patch; a removed one delete. One that was opted out is new.
// With replace, a new or changed object may also be deleted and created again. An object that is declared as before
// takes no right. doubt is the reason why rights do not decide; empty when they do.
func Rights(before, after []Object, replace bool) (rights []Right, doubt string) {
	was := make(map[manifest.ID]*Object, len(before))
	for i := range before {
		was[before[i].id] = &before[i]
	}
	for i := range after {
		o := &after[i]
		old := was[o.id]
		delete(was, o.id)
		if old != nil && old.content == o.content {
			continue
		}
		if isJudgedByUser(o.id.GroupKind()) {
			doubt = fmt.Sprintf("admission treats %s by the user of the request", o.id)
		}
		verbs := []string{"patch"}
		if replace {
			verbs = append(verbs, "create", "delete")
		} else if old == nil || old.optedOut {
			verbs = append(verbs, "create")
		}
		for _, verb := range verbs {
			rights = append(rights, o.right(verb))
		}
		if o.grants != nil && (old == nil || old.access != o.access) {
			rights = append(rights, *o.grants)
		}
	}
	for i := range before {
		if o := &before[i]; was[o.id] != nil && !o.keep {
			rights = append(rights, o.right("delete"))
		}
	}
	return rights, doubt
}

func (o *Object) right(verb string) Right {
	return Right{verb, o.resource, o.id.Namespace, o.id.Name}
}
