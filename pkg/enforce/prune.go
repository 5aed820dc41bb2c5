package enforce

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// Prune deletes an object that Helm failed to delete, if the record still is the newest of its release and the object
// still is as observed, and reports whether it did. The caller has to confirm with ConfirmPruned. The caller decides
// whether the object is a prune candidate.
func (e *Enforcer) Prune(
	ctx context.Context, rec release.Record, o *lock.Object, live *unstructured.Unstructured,
) (bool, error) {
	holds, err := e.Holds(ctx, rec)
	if err != nil || !holds {
		return false, err
	}
	w, err := e.as(o)
	if err != nil {
		return false, err
	}
	if err := w.remove(ctx, o, live); err != nil {
		return false, fmt.Errorf("delete %s: %w", o.ID, err)
	}
	return true, nil
}

// ConfirmPruned creates a pruned object again if the record is not the newest of its release any more: Helm was at work
// while it was deleted, and may have taken it into the new revision without writing to it. It returns whether the
// object stays deleted. On an error calling it again is safe.
func (e *Enforcer) ConfirmPruned(
	ctx context.Context, rec release.Record, o *lock.Object, live *unstructured.Unstructured,
) (bool, error) {
	holds, err := e.Holds(ctx, rec)
	if err != nil || holds {
		return holds, err
	}
	w, err := e.as(o)
	if err != nil {
		return false, err
	}
	r := &Revert{Object: o, Desired: content(live), Owner: drift.ManagedBy(live.GetManagedFields())}
	if _, err := w.create(ctx, r); err != nil && !apierrors.IsAlreadyExists(err) {
		return false, fmt.Errorf("create %s again: %w", o.ID, err)
	}
	return false, nil
}

// content returns what of a live object can be created again.
func content(live *unstructured.Unstructured) map[string]any {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(live.Object)}
	delete(obj.Object, "status")
	obj.SetUID("")
	obj.SetResourceVersion("")
	obj.SetGeneration(0)
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetManagedFields(nil)
	unstructured.RemoveNestedField(obj.Object, "metadata", "selfLink")
	return obj.Object
}
