package enforce

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is the identity of an object in requests, and the account for its writes.
type Object struct {
	GVK schema.GroupVersionKind
	GVR schema.GroupVersionResource
	// Namespace is empty for a cluster-scoped object.
	Namespace, Name string
	// Account is the user to impersonate for writes; empty for the operator itself.
	Account string
	// Title is the name of the object in errors and in the log, as "ConfigMap apps/shop".
	Title string
}

// String returns the object's title.
func (o Object) String() string { return o.Title }
