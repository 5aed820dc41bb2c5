package migrate

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/pkg/release"
)

// Legacy holds the remains of the older operator on one object: labels and annotations of its ObjectSet, and its
// ownership of fields.
type Legacy struct {
	// Labels and Annotations are the keys to remove, in order.
	Labels, Annotations []string
	// Managers are the field managers of those keys, in order. Their other fields are to become Helm's.
	Managers []string
	// HandsOver is set when those managers own other fields, too.
	HandsOver bool
	// Kept is set if this operator has written the keys, by --objectset-metadata: they stay.
	Kept bool

	managedFields []metav1.ManagedFieldsEntry
}

// Any reports whether there is anything to remove.
func (l *Legacy) Any() bool { return len(l.Labels)+len(l.Annotations) > 0 || l.HandsOver }

// maxCopy bounds the content of an annotation.
const maxCopy = 4 << 20

// isCurrent reports whether this operator wrote a copy of an object: what the older one applied had no annotation with
// the name of a release.
func isCurrent(applied string) bool {
	var content struct {
		Metadata struct {
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
	}
	r, err := gzip.NewReader(base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(applied)))
	return err == nil && json.NewDecoder(io.LimitReader(r, maxCopy)).Decode(&content) == nil &&
		content.Metadata.Annotations[releaseName] != nil
}

// releaseName is Helm's annotation with the name of the release.
const releaseName = "meta.helm.sh/release-name"

// FindLegacy returns the remains of the older operator on a live object of a release. Declared keys of desired stay
// under any name. serverSide is set when the release is applied server-side, for an object without evidence. It does
// not find metadata of other users of wrangler. What this operator has written stays, unless all is set.
func FindLegacy(
	key release.Key, live *unstructured.Unstructured, desired map[string]any, serverSide, all bool,
) (*Legacy, error) {
	labels, annotations, err := classic.Metadata(key)
	if err != nil {
		return nil, err
	}
	found := &Legacy{}
	have := live.GetAnnotations()
	owned := have[classic.OwnerGVK] == annotations[classic.OwnerGVK] && have[classic.OwnerName] == key.Name &&
		have[classic.OwnerNamespace] == key.Namespace
	if owned {
		for _, name := range []string{classic.Applied, classic.OwnerGVK, classic.OwnerName, classic.OwnerNamespace} {
			found.annotation(have, desired, name)
		}
		if have[classic.ID] == classic.SetID {
			found.annotation(have, desired, classic.ID)
		}
	}
	// The hash covers all of the above, so it suffices by itself if a person has removed the annotations.
	if live.GetLabels()[classic.Hash] == labels[classic.Hash] && !declares(desired, "labels", classic.Hash) {
		found.Labels = append(found.Labels, classic.Hash)
	}
	slices.Sort(found.Annotations)
	if !found.Any() {
		return found, nil
	}
	found.Kept = !all && isCurrent(have[classic.Applied])
	err = found.handOver(live.GetManagedFields(), serverSide)
	if found.Kept {
		found.Labels, found.Annotations = nil, nil
	}
	return found, err
}

func (l *Legacy) annotation(have map[string]string, desired map[string]any, name string) {
	if _, ok := have[name]; ok && !declares(desired, "annotations", name) {
		l.Annotations = append(l.Annotations, name)
	}
}

func declares(desired map[string]any, where, name string) bool {
	_, ok, err := unstructured.NestedFieldNoCopy(desired, "metadata", where, name)
	return ok || err != nil
}

// handOver finds the managers of that metadata and computes the managedFields without them. The older operator reverted
// or re-created their other fields as Helm had declared them, so those are Helm's. If they stayed with these managers,
// the next server-side helm upgrade with a change of one would fail with a conflict.
func (l *Legacy) handOver(entries []metav1.ManagedFieldsEntry, serverSide bool) error {
	metadata := &fieldpath.Set{}
	for _, name := range l.Labels {
		metadata.Insert(fieldpath.MakePathOrDie("metadata", "labels", name))
	}
	for _, name := range l.Annotations {
		metadata.Insert(fieldpath.MakePathOrDie("metadata", "annotations", name))
	}
	var kept, legacy []metav1.ManagedFieldsEntry
	helm := drift.ManagedBy(entries).Manager
	for i := range entries {
		e := entries[i]
		set, err := managers.Fields(&e)
		if err != nil {
			return err
		}
		if e.Operation != metav1.ManagedFieldsOperationUpdate || e.Subresource != "" || l.Kept && e.Manager == helm ||
			set.Intersection(metadata).Empty() {
			kept = append(kept, e)
			continue
		}
		if !slices.Contains(l.Managers, e.Manager) {
			l.Managers = append(l.Managers, e.Manager)
		}
		rest := set.Difference(metadata)
		if rest.Empty() {
			continue
		}
		fields, err := rest.ToJSON()
		if err != nil {
			return fmt.Errorf("fields of manager %s: %w", e.Manager, err)
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(fields))
		legacy = append(legacy, e)
	}
	slices.Sort(l.Managers)
	owner := drift.ManagedBy(kept)
	if !owner.Known && serverSide {
		owner.Operation = metav1.ManagedFieldsOperationApply
	}
	for _, e := range legacy {
		if e.Manager == owner.Manager && e.Operation == owner.Operation {
			kept = append(kept, e) // Helm itself: an operator that is called helm
			continue
		}
		l.HandsOver = true
		var err error
		if kept, err = give(kept, e, owner); err != nil {
			return err
		}
	}
	l.managedFields = kept
	return nil
}

// give adds the fields of an entry to those of Helm's manager in the same version of the kind. If Helm's manager has
// applied only in another version, the fields lose their owner, which harms no upgrade: a manager has one apply per
// object.
func give(
	entries []metav1.ManagedFieldsEntry, from metav1.ManagedFieldsEntry, owner drift.Owner,
) ([]metav1.ManagedFieldsEntry, error) {
	for i := range entries {
		e := &entries[i]
		if e.Manager != owner.Manager || e.Operation != owner.Operation || e.Subresource != "" {
			continue
		}
		if e.APIVersion != from.APIVersion {
			if owner.Operation == metav1.ManagedFieldsOperationApply {
				return entries, nil
			}
			continue
		}
		own, err := managers.Fields(e)
		if err != nil {
			return nil, err
		}
		more, err := managers.Fields(&from)
		if err != nil {
			return nil, err
		}
		fields, err := own.Union(more).ToJSON()
		if err != nil {
			return nil, fmt.Errorf("fields of manager %s: %w", e.Manager, err)
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(fields))
		return entries, nil
	}
	from.Manager, from.Operation = owner.Manager, owner.Operation
	return append(entries, from), nil
}

// removal returns the edit that removes the remains of the older operator from an object. It writes no content.
func (l *Legacy) removal(o enforce.Object, live *unstructured.Unstructured, dryRun bool) enforce.Edit {
	// A removal makes no manager an owner, so it does not matter which of Helm's managers writes it.
	return enforce.Edit{Object: o, Live: live, Operations: l.operations(), DryRun: dryRun,
		Manager: drift.ManagedBy(l.managedFields).Manager}
}

func (l *Legacy) operations() (patch []enforce.Operation) {
	for _, name := range l.Labels {
		patch = append(patch, enforce.Operation{Op: "remove", Path: drift.Pointer("metadata", "labels", name)})
	}
	for _, name := range l.Annotations {
		patch = append(patch, enforce.Operation{Op: "remove", Path: drift.Pointer("metadata", "annotations", name)})
	}
	// An empty list would make the API server drop all field ownership; the removal itself ends the
	// ownership.
	if len(l.Managers) > 0 && len(l.managedFields) > 0 {
		patch = append(patch,
			enforce.Operation{Op: "replace", Path: "/metadata/managedFields", Value: l.managedFields})
	}
	return patch
}
