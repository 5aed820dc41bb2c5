package enforce

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/pkg/proof"
)

// attempts bounds the attempts of a write without content after conflicts with other writers.
const attempts = 8

// writer makes the requests of reverts.
type writer struct {
	client   dynamic.Interface
	verifier *proof.Verifier
}

func (w *writer) resource(o Object) dynamic.ResourceInterface {
	return w.client.Resource(o.GVR).Namespace(o.Namespace)
}

func (w *writer) apply(ctx context.Context, r *Revert, dryRun bool) (*unstructured.Unstructured, error) {
	body, err := w.applyBody(r)
	if err != nil {
		return nil, err
	}
	force := true
	return w.resource(r.Object).Patch(ctx, r.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: r.Manager, Force: &force, DryRun: dryRunOption(dryRun)})
}

func (w *writer) applyBody(r *Revert) ([]byte, error) {
	target := r.Target
	if target == nil {
		target = r.Live.Object
	}
	desired := r.Content.Apply(r.Live.Object, target, r.Owned)
	setPath(desired, r.Live.GetResourceVersion(), "metadata", "resourceVersion")
	// An apply creates a missing object despite a resourceVersion. With a uid, it is a conflict.
	setPath(desired, string(r.Live.GetUID()), "metadata", "uid")
	body, err := json.Marshal(desired)
	if err != nil {
		return nil, fmt.Errorf("encode the desired state of %s: %w", r.Object, err)
	}
	return body, nil
}

// takeBack deletes an object that was just created, unless Helm or a person has changed it since. Writes of controllers
// to a new object (status, annotations of their own) do not count: they would keep it alive after an uninstall.
func (w *writer) takeBack(ctx context.Context, o Object, created *unstructured.Unstructured) error {
	now := created
	for attempt := 1; ; attempt++ {
		uid, version := created.GetUID(), now.GetResourceVersion()
		err := w.resource(o).Delete(ctx, o.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
		again, getErr := w.resource(o).Get(ctx, o.Name, metav1.GetOptions{})
		if getErr != nil {
			return getErr
		}
		if again.GetUID() != uid || !reflect.DeepEqual(substance(again, created), substance(created, created)) {
			return err
		}
		now = again
	}
}

// substance is the part of an object that only deliberate writes change: content without status, labels, the
// annotations from its creation (controllers add their own), and the managers, fields and times of Helm's ownership
// metadata.
func substance(obj, created *unstructured.Unstructured) map[string]any {
	s := maps.Clone(obj.Object)
	delete(s, "metadata")
	delete(s, "status")
	annotations := map[string]string{}
	for key := range created.GetAnnotations() {
		annotations[key] = obj.GetAnnotations()[key]
	}
	s["labels"], s["annotations"], s["helm"] = obj.GetLabels(), annotations, helmEntries(obj)
	return s
}

func dryRunOption(on bool) []string {
	if on {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// helmEntries returns the field ownership of the writers of Helm's ownership metadata.
func helmEntries(obj *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	var helm []metav1.ManagedFieldsEntry
	for _, entry := range obj.GetManagedFields() {
		if managers.HelmFields(&entry) > 0 {
			helm = append(helm, entry)
		}
	}
	return helm
}
