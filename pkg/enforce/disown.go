package enforce

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// disown takes from other managers the share in what Helm's manager owns by server-side apply, after a revert that
// returned done. Who applies a whole object with one field changed owns all the rest of it together with Helm, and
// then the next helm upgrade that changes any of that fails with a conflict. Nothing but ownership is written.
// Subresources stay out of it: what is scaled through one is owned through it.
func (w *writer) disown(
	ctx context.Context, r *Revert, done *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	now := done
	for attempt := 1; ; attempt++ {
		entries, changed, err := withoutShares(now.GetManagedFields(), r.Owner.Manager)
		if err != nil {
			return nil, fmt.Errorf("field ownership of %s: %w", r.ID, err)
		}
		if !changed {
			return done, nil
		}
		patch, err := json.Marshal([]map[string]any{
			{"op": "replace", "path": "/metadata/managedFields", "value": entries},
			{"op": "replace", "path": "/metadata/resourceVersion", "value": now.GetResourceVersion()},
		})
		if err != nil {
			return nil, fmt.Errorf("encode the field ownership of %s: %w", r.ID, err)
		}
		alone, err := w.resource(r.Object).Patch(ctx, r.ID.Name, types.JSONPatchType, patch,
			metav1.PatchOptions{FieldManager: r.Owner.Manager})
		switch {
		case err == nil && attempt == 1:
			return alone, nil
		case err == nil:
			return done, nil // what others wrote after our own write has not been judged
		case !apierrors.IsConflict(err) || attempt == attempts:
			return nil, err
		}
		if now, err = w.resource(r.Object).Get(ctx, r.ID.Name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
		if now.GetUID() != done.GetUID() {
			return done, nil
		}
	}
}

// withoutShares returns managedFields in which nobody else owns what Helm's manager owns by server-side apply, and
// whether that is a change.
func withoutShares(entries []metav1.ManagedFieldsEntry, helm string) ([]metav1.ManagedFieldsEntry, bool, error) {
	if !slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager != helm &&
			e.Subresource == ""
	}) {
		return entries, false, nil
	}
	var own *fieldpath.Set
	for i := range entries {
		if e := &entries[i]; e.Manager == helm && e.Operation == metav1.ManagedFieldsOperationApply &&
			e.Subresource == "" {
			set, err := setOf(e)
			if err != nil {
				return nil, false, err
			}
			own = set
		}
	}
	if own == nil {
		return entries, false, nil
	}
	out, changed := make([]metav1.ManagedFieldsEntry, 0, len(entries)), false
	for i := range entries {
		e := entries[i]
		if e.Manager == helm || e.Subresource != "" || e.FieldsV1 == nil {
			out = append(out, e)
			continue
		}
		set, err := setOf(&e)
		if err != nil {
			return nil, false, err
		}
		rest := set.Difference(own)
		if rest.Size() == set.Size() {
			out = append(out, e)
			continue
		}
		changed = true
		if rest.Empty() {
			continue
		}
		fields, err := rest.ToJSON()
		if err != nil {
			return nil, false, err
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(fields))
		out = append(out, e)
	}
	return out, changed, nil
}

func setOf(e *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if e.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("fields of manager %s: %w", e.Manager, err)
	}
	return set, nil
}
