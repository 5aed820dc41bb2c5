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
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
)

// attempts bounds the attempts of a write without content after conflicts with other writers.
const attempts = 8

var errNoTarget = errors.New("there is nothing to revert the object to")

// Revert is one object to revert or re-create.
type Revert struct {
	Object
	// Record is that of the locked revision.
	Record release.Record
	// Desired is the object as it is created.
	Desired map[string]any
	// Live is the object as observed; nil when it does not exist and is to be created.
	Live *unstructured.Unstructured
	// Target is the state to restore; unused for a creation.
	Target map[string]any
	// Unfinished is set when the content of Live equals Target, and only the ownership of fields is to become Helm's.
	Unfinished bool
	// RemovesForeign is set when Target lacks a list element that another manager added.
	RemovesForeign bool
	// Content makes the bodies of requests.
	Content Content
	// Manager is Helm's field manager on the object. ServerSide is set when it owns the object by server-side apply.
	Manager    string
	ServerSide bool
	// Owned is the state of the object with the field ownership for an apply; nil for a creation.
	Owned *unstructured.Unstructured
}

// Content makes the bodies of the requests of a revert. It decides the content of writes, and the kernel their time: it
// adds the preconditions.
type Content interface {
	// Patch returns the patch from live to target.
	Patch(live, target map[string]any) Patch
	// Apply returns the body of a server-side apply from live to target. owned is the state of the object with the
	// field ownership to use; nil for an object without fields of Helm's manager.
	Apply(live, target map[string]any, owned *unstructured.Unstructured) map[string]any
	// Shares returns the fields of Helm's next apply of the object that other managers own.
	Shares(now *unstructured.Unstructured, helm string) *fieldpath.Set
	// Alike reports whether the declared fields are the same in two states of the object.
	Alike(a, b map[string]any) bool
}

// Patch is a merge patch (RFC 7386), or a JSON patch (RFC 6902) when Merge is nil.
type Patch struct {
	Merge      map[string]any
	Operations []Operation
}

// Operation is one of a JSON patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// writer makes the requests of reverts.
type writer struct {
	client   dynamic.Interface
	verifier *proof.Verifier
}

func (w *writer) resource(o Object) dynamic.ResourceInterface {
	return w.client.Resource(o.GVR).Namespace(o.Namespace)
}

// update turns the live object into the target with the requests that Helm itself would have sent. With dryRun it
// returns the result without a write. An object returned with an error has the content, but Helm does not own all of it
// yet. The next judgement finds that, too, by RevertManager.
func (w *writer) update(ctx context.Context, r *Revert, dryRun bool) (*unstructured.Unstructured, error) {
	done, err := r.Live, error(nil)
	switch {
	case !r.ServerSide:
		return w.mergeThrough(ctx, r, r.Manager, dryRun)
	case r.RemovesForeign, r.subresource() != "":
		// A server-side apply cannot remove fields of another manager. So the content is merged, and then applied.
		done, err = w.mergeThrough(ctx, r, managers.Revert, dryRun)
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

func (w *writer) merge(
	ctx context.Context, r *Revert, manager string, dryRun bool, subresource ...string,
) (*unstructured.Unstructured, error) {
	as, body, err := r.patch()
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s: %w", r.Object, err)
	}
	return w.resource(r.Object).Patch(ctx, r.Name, as, body,
		metav1.PatchOptions{FieldManager: manager, DryRun: dryRunOption(dryRun)}, subresource...)
}

// patch returns the patch from Live to Target, if Live is still the newest version. It is a merge patch, except for a
// target with nulls, which a merge patch cannot write.
func (r *Revert) patch() (types.PatchType, []byte, error) {
	if r.Target == nil { // a patch to that would take out every field
		return "", nil, errNoTarget
	}
	return r.Content.Patch(r.Live.Object, r.Target).body(r.Live.GetResourceVersion())
}

// body returns the patch with the object's resourceVersion as its precondition: a wrong one results in a conflict.
func (p Patch) body(version string) (types.PatchType, []byte, error) {
	if p.Merge == nil {
		body, err := json.Marshal(append(p.Operations,
			Operation{Op: "replace", Path: "/metadata/resourceVersion", Value: version}))
		return types.JSONPatchType, body, err
	}
	setPath(p.Merge, version, "metadata", "resourceVersion")
	body, err := json.Marshal(p.Merge)
	return types.MergePatchType, body, err
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

// Creator returns the field manager for the creation of the object.
func (r *Revert) Creator() string {
	if r.ServerSide {
		return managers.Revert
	}
	return r.Manager
}

// create re-creates the object. It fails when the object exists. An object returned with an error is as for update.
func (w *writer) create(ctx context.Context, r *Revert) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{Object: r.Desired}
	done, err := w.resource(r.Object).Create(ctx, obj, metav1.CreateOptions{FieldManager: r.Creator()})
	if err != nil || !r.ServerSide {
		return done, err
	}
	// A creation by server-side apply would overwrite an object that Helm has just made, so the object is posted first.
	return w.finish(ctx, r, done)
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

// setPath sets a value in nested maps, and makes the missing ones.
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
