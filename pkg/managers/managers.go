// Package managers finds the relevant field managers of an object for a write: Helm's, and that of an incomplete
// revert.
package managers

import (
	"bytes"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Revert is the field manager of helm-locker's writes whose fields later requests transfer to Helm. While it owns any
// field, Helm does not own all declared fields.
const Revert = "helm-locker-revert"

// Unfinished reports whether a revert has not been completed: Revert owns a field of the object.
func Unfinished(managedFields []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(managedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == Revert })
}

// Helm sets these fields on every object. They are in the notation of managedFields.
const (
	ReleaseName      = "f:meta.helm.sh/release-name"
	ReleaseNamespace = "f:meta.helm.sh/release-namespace"
	ManagedByLabel   = "f:app.kubernetes.io/managed-by"
)

// Owns reports whether an entry contains a field, at any place.
func Owns(entry *metav1.ManagedFieldsEntry, field string) bool {
	return entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"`+field+`"`))
}

// HelmFields returns the number of Helm's fields that an entry owns, without those in lost; none for an entry that
// cannot be Helm's. Other tools set ManagedByLabel too.
func HelmFields(entry *metav1.ManagedFieldsEntry, lost ...string) (owned int) {
	if entry.Subresource != "" || entry.Manager == Revert {
		return 0
	}
	for _, field := range []string{ReleaseName, ReleaseNamespace} {
		if !slices.Contains(lost, field) && Owns(entry, field) {
			owned++
		}
	}
	if owned > 0 && !slices.Contains(lost, ManagedByLabel) && Owns(entry, ManagedByLabel) {
		owned++
	}
	return owned
}

// Applied reports whether an entry is that of a manager's server-side applies. Where Helm applies, an update under its
// name is of another client: each client chooses its own name.
func Applied(entry *metav1.ManagedFieldsEntry, manager string) bool {
	return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// Fields returns the fields of an entry.
func Fields(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("fields of manager %s: %w", entry.Manager, err)
	}
	return set, nil
}
