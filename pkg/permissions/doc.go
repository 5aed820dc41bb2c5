// Package permissions says what an operator must be allowed to do to lock given objects, as RBAC rules: no more
// than it uses, and enough for it to restore everything that the objects declare. It is pure: no client, no
// logging, no context.
//
// Kubernetes lets no user write a Role that grants more than the writer has, nor a binding to such a Role. So to
// restore a Role takes its rules, and to restore a binding takes the verb bind on its role.
package permissions
