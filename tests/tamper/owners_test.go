package tamper

import (
	"bytes"
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// ownedBy returns the fields of the entries of managedFields for which of is true.
func ownedBy(u *unstructured.Unstructured, of func(metav1.ManagedFieldsEntry) bool) (*fieldpath.Set, error) {
	all := &fieldpath.Set{}
	for _, e := range u.GetManagedFields() {
		if e.FieldsV1 == nil || !of(e) {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
			return nil, err
		}
		all = all.Union(set)
	}
	return all, nil
}

// recordOwners records Helm's fields of each object by server-side apply, right after the installation: the fields of
// its next apply.
func (ch *chart) recordOwners(ctx context.Context) error {
	for _, o := range ch.objects {
		u, err := o.get(ctx)
		if err != nil {
			return err
		}
		owner := drift.ManagedBy(u.GetManagedFields())
		if owner.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		if o.sent, err = ownedBy(u, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == owner.Manager && e.Operation == owner.Operation && e.Subresource == ""
		}); err != nil {
			return err
		}
		if o.autoscaled { // the replicas are left to the autoscaler, and the rules to the controller that gathers them
			o.sent = o.sent.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "replicas")))
		}
		if o.declared.Object["aggregationRule"] != nil {
			o.sent = o.sent.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("rules")))
		}
	}
	return nil
}

// helmOwnsAlone shows that no other manager owns, alone or beside Helm's, a field of Helm's next apply. Helm 4 would
// otherwise report a conflict as soon as it changes the field.
func (w *fixture) helmOwnsAlone(t *testing.T, ch *chart) {
	t.Helper()
	for _, o := range ch.objects {
		if o.sent == nil {
			continue
		}
		u, err := o.get(t.Context())
		check.NoError(t, err)
		owner := drift.ManagedBy(u.GetManagedFields())
		others, err := ownedBy(u, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager != owner.Manager && e.Subresource != "status"
		})
		check.NoError(t, err)
		if shared := others.Intersection(o.sent); !shared.Empty() {
			t.Errorf("of %s of %s other managers own %s", o, ch, shared)
		}
	}
}
