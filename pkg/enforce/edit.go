package enforce

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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

func (w *writer) send(ctx context.Context, e Edit) (*unstructured.Unstructured, error) {
	as, body, err := Patch{Operations: e.Operations}.body(e.Live.GetResourceVersion())
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s: %w", e.Object, err)
	}
	return w.resource(e.Object).Patch(ctx, e.Name, as, body,
		metav1.PatchOptions{FieldManager: e.Manager, DryRun: dryRunOption(e.DryRun)})
}
