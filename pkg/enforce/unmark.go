package enforce

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
)

// Unmark takes what the older operator left off an object, in one write and only if the object still is as
// observed: otherwise the error is the API server's conflict. Content is not written. With dryRun the API server
// only reports whether it would do it.
func (e *Enforcer) Unmark(
	ctx context.Context, o *lock.Object, live *unstructured.Unstructured, found *Legacy, dryRun bool,
) error {
	// Removing makes nobody an owner, so that it does not matter which of Helm's managers this is written as.
	manager := drift.ManagedBy(found.managedFields).Manager
	body, err := found.patch(live)
	if err != nil {
		return fmt.Errorf("encode the patch of %s: %w", o.ID, err)
	}
	_, err = e.writer.resource(o).Patch(ctx, o.ID.Name, types.JSONPatchType, body,
		metav1.PatchOptions{FieldManager: manager, DryRun: dryRunOption(dryRun)})
	return err
}

func (l *Legacy) patch(live *unstructured.Unstructured) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	// A resourceVersion that is not the object's is answered by a conflict.
	patch := []operation{{"replace", "/metadata/resourceVersion", live.GetResourceVersion()}}
	for _, name := range l.Labels {
		patch = append(patch, operation{Op: "remove", Path: "/metadata/labels/" + pointerEscape(name)})
	}
	for _, name := range l.Annotations {
		patch = append(patch, operation{Op: "remove", Path: "/metadata/annotations/" + pointerEscape(name)})
	}
	// An empty list would have the API server begin anew, with nobody owning anything; the removal itself ends the
	// ownership.
	if len(l.Managers) > 0 && len(l.managedFields) > 0 {
		patch = append(patch, operation{"replace", "/metadata/managedFields", l.managedFields})
	}
	return json.Marshal(patch)
}
