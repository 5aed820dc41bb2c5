package drift

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/rancher/helm-locker/pkg/plain"
)

// describedFinalizers is the number of finalizers that DescribeDeletion names.
const describedFinalizers = 3

// DescribeDeletion describes the pending deletion of a live object, its time and its finalizers, as in
//
//	deletion is pending since 2026-03-01T12:00:00Z; held by finalizer example.com/backup, added by kubectl (Update)
//
// It is empty for an object without a pending deletion. It quotes names from the object: make it neutral before you
// show it.
func DescribeDeletion(live *unstructured.Unstructured) string {
	at := live.GetDeletionTimestamp()
	if at == nil {
		return ""
	}
	text := "deletion is pending since " + at.UTC().Format(time.RFC3339)
	finalizers, managed := live.GetFinalizers(), live.GetManagedFields()
	if len(finalizers) == 0 {
		return text
	}
	var held []string
	for _, name := range finalizers[:min(describedFinalizers, len(finalizers))] {
		by := ""
		if author := finalizerAuthor(managed, name); author != nil && author.Manager != "" {
			by = fmt.Sprintf(", added by %s (%s)", author.Manager, author.Operation)
		}
		held = append(held, "finalizer "+name+by)
	}
	return text + "; held by " + strings.Join(held, "; ") + plain.AndMore(len(finalizers)-len(held))
}

// finalizerAuthor returns the entry of the last writer that owns a finalizer; nil for none. The API server records no
// author for its own finalizers.
func finalizerAuthor(managed []metav1.ManagedFieldsEntry, name string) (latest *metav1.ManagedFieldsEntry) {
	path := fieldpath.MakePathOrDie("metadata", "finalizers", value.NewValueInterface(name))
	for i := range managed {
		entry := &managed[i]
		if set, ok := fieldsOf(entry); ok && set.Has(path) && later(entry, latest) {
			latest = entry
		}
	}
	return latest
}

// WithoutDoneFinalizers returns the part of a desired object that can be restored while its live object is being
// deleted. It leaves out finalizers that live no longer has, also those in the spec of a Namespace: their work is done,
// and the API server refuses to add one. desired stays unchanged.
func WithoutDoneFinalizers(desired map[string]any, live *unstructured.Unstructured) map[string]any {
	desired = withoutDone(desired, live, "metadata")
	if desired["kind"] == "Namespace" && desired["apiVersion"] == "v1" {
		desired = withoutDone(desired, live, "spec")
	}
	return desired
}

// withoutDone is WithoutDoneFinalizers for those in one part of the object.
func withoutDone(desired map[string]any, live *unstructured.Unstructured, in string) map[string]any {
	present, _ := mapOf(live.Object[in])["finalizers"].([]any)
	return withoutElements(desired, in, "finalizers", func(f any) bool {
		name, ok := f.(string)
		return !ok || !slices.Contains(present, any(name))
	})
}
