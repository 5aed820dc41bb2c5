// Package permissions derives the rights of an operator for locking given objects, as RBAC rules: no more than it
// uses, and enough for it to restore all declared fields. It is pure: no client, no logging, no context.
//
// Kubernetes lets no user write a Role that grants more than the writer has, nor a binding to such a Role. So
// restoring a Role needs its rules, and restoring a binding needs the verb bind on its role.
package permissions
