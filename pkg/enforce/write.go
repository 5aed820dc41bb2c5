package enforce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
)

// attempts bounds how often a write that changes no content is tried because another writer came in between.
const attempts = 8

var errNoTarget = errors.New("there is nothing to revert the object to")

// Revert is one object to be reverted or re-created.
type Revert struct {
	*lock.Object
	// Record is that of the locked revision.
	Record release.Record
	// Desired is the decoded desired state.
	Desired map[string]any
	// Live is the object as observed; nil when it does not exist and is to be created.
	Live *unstructured.Unstructured
	// Target is what Live shall become; unused for a creation.
	Target map[string]any
	// Unfinished is set when the content of Live is as Target, and only the ownership of fields is to become Helm's.
	Unfinished bool
	// RemovesForeign is set when Target lacks a list element that another manager added.
	RemovesForeign bool
	// Options are the rules of the comparison that found Target. What they ignore is not written to an object that
	// exists.
	Options drift.Options
	// Owned reports whether Helm's manager owns a field of Live by server-side apply.
	Owned func(path []string) bool
	// Owner is Helm's field manager on the object. When its operation is Apply the object is owned by server-side
	// apply.
	Owner drift.Owner
}

// writer makes the requests of reverts.
type writer struct {
	client   dynamic.Interface
	verifier *proof.Verifier
}

func (w *writer) resource(o *lock.Object) dynamic.ResourceInterface {
	if o.Namespaced {
		return w.client.Resource(o.GVR).Namespace(o.ID.Namespace)
	}
	return w.client.Resource(o.GVR)
}

// update turns the live object into the target as Helm itself would have written it. With dryRun the API server only
// says what would become of it. What comes back with an error is the object as it is if the content was written, and
// Helm does not own all of it yet. The next judgement finds that, too, by RevertManager.
func (w *writer) update(ctx context.Context, r *Revert, dryRun bool) (*unstructured.Unstructured, error) {
	done, err := r.Live, error(nil)
	switch {
	case !r.serverSide():
		return w.mergeThrough(ctx, r, r.Owner.Manager, dryRun)
	case r.RemovesForeign, r.subresource() != "":
		// A server-side apply cannot take out what another manager put in. So the content is merged, and then applied.
		done, err = w.mergeThrough(ctx, r, drift.RevertManager, dryRun)
	case !r.Unfinished:
		done, err = w.apply(ctx, r, dryRun)
	}
	if err != nil {
		return nil, err
	}
	if dryRun {
		return done, nil
	}
	return w.finish(ctx, r, done)
}

func (r *Revert) serverSide() bool {
	return r.Owner.Operation == metav1.ManagedFieldsOperationApply
}

func (w *writer) merge(
	ctx context.Context, r *Revert, manager string, dryRun bool, subresource ...string,
) (*unstructured.Unstructured, error) {
	as, body, err := r.patch()
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s: %w", r.ID, err)
	}
	return w.resource(r.Object).Patch(ctx, r.ID.Name, as, body,
		metav1.PatchOptions{FieldManager: manager, DryRun: dryRunOption(dryRun)}, subresource...)
}

// patch returns the patch that makes Target of Live, if Live is still the newest version: a merge patch, but for a
// target with nulls, which a merge patch cannot write.
func (r *Revert) patch() (types.PatchType, []byte, error) {
	if r.Target == nil { // a patch to that would take out every field
		return "", nil, errNoTarget
	}
	if drift.SetsNull(r.Live.Object, r.Target) {
		operations := append(drift.JSONPatch(r.Live.Object, r.Target),
			drift.PatchOperation{Op: "add", Path: "/metadata/resourceVersion", Value: r.Live.GetResourceVersion()})
		body, err := json.Marshal(operations)
		return types.JSONPatchType, body, err
	}
	patch := drift.MergePatch(r.Live.Object, r.Target)
	setPath(patch, r.Live.GetResourceVersion(), "metadata", "resourceVersion")
	body, err := json.Marshal(patch)
	return types.MergePatchType, body, err
}

func (w *writer) apply(ctx context.Context, r *Revert, dryRun bool) (*unstructured.Unstructured, error) {
	body, err := w.applyBody(r)
	if err != nil {
		return nil, err
	}
	force := true
	return w.resource(r.Object).Patch(ctx, r.ID.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: r.Owner.Manager, Force: &force, DryRun: dryRunOption(dryRun)})
}

func (w *writer) applyBody(r *Revert) ([]byte, error) {
	target := r.Target
	if target == nil {
		target = r.Live.Object
	}
	blank, err := r.Blank.Decode()
	if err != nil {
		return nil, fmt.Errorf("nulls of %s: %w", r.ID, err)
	}
	desired := drift.Request{Desired: r.Desired, Blank: blank}.Apply(target, r.Live.Object, r.Options, r.Owned)
	setPath(desired, r.Live.GetResourceVersion(), "metadata", "resourceVersion")
	// An apply creates what does not exist, whatever its resourceVersion says. With a uid it is a conflict, too.
	setPath(desired, string(r.Live.GetUID()), "metadata", "uid")
	body, err := json.Marshal(desired)
	if err != nil {
		return nil, fmt.Errorf("encode the desired state of %s: %w", r.ID, err)
	}
	return body, nil
}

// Creator returns the field manager in whose name the object is created.
func (r *Revert) Creator() string {
	if r.serverSide() {
		return drift.RevertManager
	}
	return r.Owner.Manager
}

// create re-creates the object. It fails when the object exists. What comes back with an error is as for update.
func (w *writer) create(ctx context.Context, r *Revert) (*unstructured.Unstructured, error) {
	blank, err := r.Blank.Decode()
	if err != nil {
		return nil, fmt.Errorf("nulls of %s: %w", r.ID, err)
	}
	obj := &unstructured.Unstructured{Object: drift.Created(r.Desired, blank)}
	done, err := w.resource(r.Object).Create(ctx, obj, metav1.CreateOptions{FieldManager: r.Creator()})
	if err != nil || !r.serverSide() {
		return done, err
	}
	// A creation by server-side apply would overwrite an object that Helm has just made, so the object is posted first.
	return w.finish(ctx, r, done)
}

// takeBack deletes an object that was just created, unless Helm or a person has touched it since. What controllers
// do to a new object at once (status, annotations of their own) does not count: they would keep it alive after an
// uninstall.
func (w *writer) takeBack(ctx context.Context, o *lock.Object, created *unstructured.Unstructured) error {
	now := created
	for attempt := 1; ; attempt++ {
		uid, version := created.GetUID(), now.GetResourceVersion()
		err := w.resource(o).Delete(ctx, o.ID.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
		again, getErr := w.resource(o).Get(ctx, o.ID.Name, metav1.GetOptions{})
		if getErr != nil {
			return getErr
		}
		if again.GetUID() != uid || !reflect.DeepEqual(substance(again, created), substance(created, created)) {
			return err
		}
		now = again
	}
}

// substance is what of an object only those change who mean to: content without status, labels, those annotations that
// the object was created with (controllers add their own), and who wrote Helm's ownership metadata, what and when.
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

// setPath sets a value in nested maps, making those that are missing.
func setPath(m map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	m[path[len(path)-1]] = value
}
