// Package permissions says what an operator must be allowed to do to lock given objects, as RBAC rules: no more
// than it uses, and enough for it to restore everything that the objects declare. It is pure: no client, no
// logging, no context.
//
// Kubernetes lets no user write a Role that grants more than the writer has, nor a binding to such a Role. So whoever
// is to put back a Role has to hold its rules, and whoever is to put back a binding has to hold the verb bind on its
// role.
package permissions
