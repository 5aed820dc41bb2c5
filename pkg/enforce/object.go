package enforce

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// Edit is a change of an object's metadata that restores no content.
type Edit struct {
	Object
	// Live is the object as observed.
	Live *unstructured.Unstructured
	// Operations are those of a JSON patch.
	Operations []Operation
	// Manager is the field manager of the request.
	Manager string
	// DryRun makes the API server only validate the change.
	DryRun bool
}

// Edit makes an edit if the object still is as observed: otherwise the error is the API server's conflict. Holds must
// have been true after the object was observed.
func (e *Enforcer) Edit(ctx context.Context, edit Edit) error {
	w, err := e.as(edit.Object)
	if err != nil {
		return err
	}
	_, err = w.send(ctx, edit)
	return err
}

func (w *writer) send(ctx context.Context, e Edit) (*unstructured.Unstructured, error) {
	as, body, err := Patch{Operations: e.Operations}.body(e.Live.GetResourceVersion())
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s: %w", e.Object, err)
	}
	return w.resource(e.Object).Patch(ctx, e.Name, as, body,
		metav1.PatchOptions{FieldManager: e.Manager, DryRun: dryRunOption(e.DryRun)})
}
