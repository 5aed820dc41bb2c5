package enforce

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Prune deletes an object that Helm failed to delete, if it still is as observed. Holds must have been true after the
// object was observed. The caller decides whether the object is a prune candidate.
func (e *Enforcer) Prune(ctx context.Context, o Object, live *unstructured.Unstructured) error {
	w, err := e.as(o)
	if err != nil {
		return err
	}
	if err := w.remove(ctx, o, live); err != nil {
		return fmt.Errorf("delete %s: %w", o, err)
	}
	return nil
}
