package enforce

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// emptied makes the patch that takes out every field.
type emptied struct{ Content }

func (emptied) Patch(map[string]any, map[string]any) Patch {
	return Patch{Merge: map[string]any{"spec": nil}}
}

// A merge patch to no target would be one that takes out every field.
func TestI2_ARevertWithoutATargetIsNoPatch(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": "b"}}}
	r := &Revert{Content: emptied{}, Live: live}
	_, body, err := r.patch()
	check.That(t, errors.Is(err, errNoTarget) && body == nil, "the patch is %s, error is %v", body, err)
}

// managed returns an object with the entries of managers who wrote Helm's ownership metadata, and of a controller.
func managed(version string, operations ...metav1.ManagedFieldsOperationType) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetResourceVersion(version)
	entries := []metav1.ManagedFieldsEntry{{Manager: "controller", Operation: "Update", APIVersion: "v1",
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:version-` + version + `":{}}}}`)}}
	for _, operation := range operations {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: "helm", Operation: operation, APIVersion: "v1",
			FieldsType: "FieldsV1",
			FieldsV1:   metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`)})
	}
	u.SetManagedFields(entries)
	return u
}

func TestI1_OwnershipThatHelmWroteIsNotTakenForOurs(t *testing.T) {
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	done, owned := managed("1", update), managed("3", apply)
	got := adopt(done, managed("2", update), owned)
	check.That(t, got.GetResourceVersion() == "1" && helmEntries(got)[0].Operation == apply,
		"after a controller: version %s, entries %v", got.GetResourceVersion(), helmEntries(got))
	got = adopt(done, managed("2", update, apply), owned)
	check.That(t, got == done, "after Helm: entries %v", helmEntries(got))
}
