package drift

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Finalizer is a finalizer of a live object. Author is its author, if managedFields record one.
type Finalizer struct {
	Name   string
	Author Author
}

// Finalizers returns the finalizers of a live object in their order. The API server records no author for its own
// finalizers. Of several managers that own a finalizer, the last writer is its author.
func Finalizers(live *unstructured.Unstructured) []Finalizer {
	names := live.GetFinalizers()
	found := make([]Finalizer, len(names))
	for i, name := range names {
		found[i].Name = name
	}
	managed := live.GetManagedFields()
	latest := make([]*metav1.ManagedFieldsEntry, len(names))
	for i := range managed {
		entry := &managed[i]
		set, ok := fieldsOf(entry)
		if !ok {
			continue
		}
		for j, name := range names {
			path := fieldpath.MakePathOrDie("metadata", "finalizers", value.NewValueInterface(name))
			if set.Has(path) && later(entry, latest[j]) {
				latest[j], found[j].Author = entry, authorOf(entry)
			}
		}
	}
	return found
}

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
	finalizers := Finalizers(live)
	if len(finalizers) == 0 {
		return text
	}
	var held []string
	for _, f := range finalizers[:min(describedFinalizers, len(finalizers))] {
		name := "finalizer " + f.Name
		if f.Author.Manager != "" {
			name += fmt.Sprintf(", added by %s (%s)", f.Author.Manager, f.Author.Operation)
		}
		held = append(held, name)
	}
	text += "; held by " + strings.Join(held, "; ")
	if more := len(finalizers) - len(held); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
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
	part, _ := desired[in].(map[string]any)
	declared, _ := part["finalizers"].([]any)
	if len(declared) == 0 {
		return desired
	}
	now, _ := live.Object[in].(map[string]any)
	present, _ := now["finalizers"].([]any)
	left := slices.DeleteFunc(slices.Clone(declared), func(f any) bool {
		name, ok := f.(string)
		return !ok || !slices.Contains(present, any(name))
	})
	if len(left) == len(declared) {
		return desired
	}
	desired, part = maps.Clone(desired), maps.Clone(part)
	desired[in] = part
	if part["finalizers"] = left; len(left) == 0 {
		delete(part, "finalizers")
	}
	return desired
}
