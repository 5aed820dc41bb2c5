package enforce

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The subresources by which alone a field can be written.
const (
	resizing   = "resize"   // of a Pod: the resources of its containers
	finalizing = "finalize" // of a Namespace: the finalizers in its spec
)

// subresource returns the subresource of a revert of nothing but the field that is written through it; empty for any
// other revert. Salvage splits a revert of that field and of others.
func (r *Revert) subresource() string {
	if r.Target == nil || r.Live == nil {
		return ""
	}
	var (
		name    string
		without func(object map[string]any)
	)
	switch r.GVK.GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		name, without = resizing, withoutResources
	case schema.GroupKind{Kind: "Namespace"}:
		name, without = finalizing, func(o map[string]any) { unstructured.RemoveNestedField(o, "spec", "finalizers") }
	default:
		return ""
	}
	live, target := runtime.DeepCopyJSON(r.Live.Object), runtime.DeepCopyJSON(r.Target)
	if reflect.DeepEqual(live, target) {
		return ""
	}
	without(live)
	without(target)
	if !reflect.DeepEqual(live, target) {
		return ""
	}
	return name
}

// withoutResources removes the resources from the containers of a Pod.
func withoutResources(pod map[string]any) {
	spec, _ := pod["spec"].(map[string]any)
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		for _, item := range containers {
			if container, ok := item.(map[string]any); ok {
				delete(container, "resources")
			}
		}
	}
}

// mergeThrough is merge through a subresource. An API server without it changes the field in no way, and refuses the
// same patch of the object with a reason.
func (w *writer) mergeThrough(
	ctx context.Context, r *Revert, manager string, dryRun bool,
) (done *unstructured.Unstructured, err error) {
	name := r.subresource()
	switch name {
	case "":
		return w.merge(ctx, r, manager, dryRun)
	case finalizing: // which takes no patch
		whole := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(r.Target)}
		whole.SetResourceVersion(r.Live.GetResourceVersion())
		done, err = w.resource(r.Object).Update(ctx, whole,
			metav1.UpdateOptions{FieldManager: manager, DryRun: dryRunOption(dryRun)}, name)
	default:
		done, err = w.merge(ctx, r, manager, dryRun, name)
	}
	if apierrors.IsNotFound(err) {
		return w.merge(ctx, r, manager, dryRun)
	}
	return done, err
}

func (w *writer) merge(
	ctx context.Context, r *Revert, manager string, dryRun bool, subresource ...string,
) (*unstructured.Unstructured, error) {
	as, body, err := r.patch()
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s: %w", r.Object, err)
	}
	return w.resource(r.Object).Patch(ctx, r.Name, as, body,
		metav1.PatchOptions{FieldManager: manager, DryRun: dryRunOption(dryRun)}, subresource...)
}
