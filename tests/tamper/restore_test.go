package tamper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// tampering is the work on one object.
type tampering struct {
	*object
	result *result
	rng    *rand.Rand
	size   size
	before *unstructured.Unstructured
	watch  *sightings
	// failed is set when something was not restored.
	failed bool
}

// on begins to work on an object of a chart.
func (ch *chart) on(ctx context.Context, o *object, r *result) (*tampering, error) {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s %s", ch, o) // a hash takes everything
	x := &tampering{object: o, result: r, rng: rand.New(rand.NewPCG(*seed, hash.Sum64())), size: sizeFor(o)}
	var err error
	x.before, x.watch, err = o.follow(ctx)
	return x, err
}

func (x *tampering) generator(live *unstructured.Unstructured) *generator {
	return &generator{object: x.object, live: live, rng: x.rng, size: x.size}
}

// all makes all changes to the object that have to be reverted in every scope.
func (x *tampering) all(ctx context.Context) error {
	harms, exempt, err := x.generator(x.before).harms()
	if err != nil {
		return err
	}
	x.result.exempted(exempt)
	if err := x.edits(ctx, harms); err != nil {
		return err
	}
	if err := x.takeOver(ctx); err != nil {
		return err
	}
	return x.delete(ctx)
}

// takeOver applies the object with another value under another field manager.
func (x *tampering) takeOver(ctx context.Context) error {
	takeovers, err := x.generator(x.before).takeovers()
	if err != nil {
		return err
	}
	return x.edits(ctx, takeovers)
}

// letGo releases the shared ownership after a server-side apply that changed no value of an object of Helm 3: it is no
// drift there.
func (x *tampering) letGo(ctx context.Context, r request) error {
	owner := drift.ManagedBy(x.before.GetManagedFields())
	if r.kind != types.ApplyPatchType || owner.Operation == metav1.ManagedFieldsOperationApply {
		return nil
	}
	nothing, err := json.Marshal(map[string]any{"apiVersion": x.declared.GetAPIVersion(), "kind": x.declared.GetKind(),
		"metadata": map[string]any{"name": x.name(), "namespace": x.declared.GetNamespace()}})
	if err != nil {
		return err
	}
	_, err = x.resource.Patch(ctx, x.name(), types.ApplyPatchType, nothing,
		metav1.PatchOptions{FieldManager: r.manager})
	if isRefusal(err) {
		return nil // an object that cannot be changed keeps the share
	}
	return err
}

// send sends the requests of a mutation until the API server accepts one, and returns its answer. It returns nil
// where it accepts none of them or the object is unchanged.
func (x *tampering) send(
	ctx context.Context, m mutation, was map[string]any,
) (done *unstructured.Unstructured, err error) {
	if len(m.requests) == 0 {
		x.result.absent(m.class)
		return nil, nil
	}
	for _, r := range m.requests {
		options := metav1.PatchOptions{FieldManager: cmp.Or(r.manager, kit.Tamperer)}
		if r.kind == types.ApplyPatchType {
			options.Force = ptr.To(true)
		}
		done, err = x.resource.Patch(ctx, x.name(), r.kind, r.body, options, strings.Fields(r.subresource)...)
		if isRefusal(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.what, err)
		}
		if r.subresource == "" && difference(was, x.content(done, same)) == "" {
			x.result.noChange(m.class)
			return nil, x.letGo(ctx, r)
		}
		return done, nil
	}
	x.result.refused(m.class)
	return nil, nil
}

// isRefusal reports whether the API server refused the content of a request. Its answer is mostly 4xx, and 500 where
// the applied object cannot be decoded and where a node port is taken.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code <= http.StatusInternalServerError && code != http.StatusTooManyRequests
}

// edits makes mutations, one after the other.
func (x *tampering) edits(ctx context.Context, all []mutation) error {
	for _, m := range all {
		if err := x.edit(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// edit makes a mutation and waits until it is reverted.
func (x *tampering) edit(ctx context.Context, m mutation) error {
	want := x.content(x.before, same)
	done, err := x.send(ctx, m, want)
	if err != nil || done == nil {
		return err
	}
	if err := x.restored(ctx, m, done.GetResourceVersion(), func(u *unstructured.Unstructured) string {
		return difference(want, x.content(u, same))
	}); err != nil || !x.failed {
		return err
	}
	return x.repair(ctx)
}

// delete deletes the object and waits until it is re-created.
func (x *tampering) delete(ctx context.Context) error {
	want := x.content(x.before, successor)
	now, err := x.get(ctx)
	if err != nil {
		return err
	}
	if err := x.resource.Delete(ctx, x.name(), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	version := now.GetResourceVersion()
	isOurs := func(finalizer string) bool {
		return strings.HasPrefix(finalizer, "tamper.example.com/") || slices.Contains(unattended(), finalizer)
	}
	if slices.ContainsFunc(now.GetFinalizers(), isOurs) {
		// Their controllers have finished now.
		done, err := x.resource.Patch(ctx, x.name(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
			metav1.PatchOptions{FieldManager: kit.Tamperer})
		if err != nil {
			return fmt.Errorf("release the finalizers: %w", err)
		}
		version = done.GetResourceVersion()
	}
	if err := x.restored(ctx, mutation{class: deletion, what: "delete"}, version,
		func(u *unstructured.Unstructured) string {
			if u.GetUID() == now.GetUID() {
				return beingDeleted
			}
			return difference(want, x.content(u, successor))
		}); err != nil {
		return err
	}
	x.before, err = x.get(ctx)
	return err
}

// unattended are the finalizers of Kubernetes whose controllers do not run here.
func unattended() []string {
	return []string{"kubernetes.io/pv-protection", "kubernetes.io/vac-protection",
		"resource.kubernetes.io/delete-protection", "scheduling.k8s.io/podgroup-protection"}
}

// restored waits until the object is as wanted after a version, and records the duration from now on, or the
// remaining differences after the timeout.
func (x *tampering) restored(
	ctx context.Context, m mutation, version string, differs func(*unstructured.Unstructured) string,
) error {
	begin := time.Now()
	wait := patience
	if m.class == deletion {
		wait *= 4 // a namespace is gone when all that was in it is
	}
	if _, known := x.result.hopeless.Load(m.alike()); known {
		wait = impatience
	}
	seen, remains, err := x.watch.until(version, wait, differs)
	if err == nil && remains == beingDeleted && x.declared.GetKind() == "CustomResourceDefinition" {
		if err = x.remind(ctx); err == nil {
			begin = time.Now()
			seen, remains, err = x.watch.until(version, wait, differs)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.what, err)
	}
	// The watch may deliver it before the answer to the tampering has been read.
	x.result.settle(x.object, m, max(0, seen.Sub(begin)), remains)
	if x.failed = remains != ""; x.failed {
		x.result.hopeless.Store(m.alike(), true)
	}
	return nil
}

// beingDeleted describes a deletion not yet finished by the API server or by the owner of another finalizer.
const beingDeleted = ": it is still being deleted"

// remind makes the API server reconsider a CustomResourceDefinition under deletion. Its finalizer controller
// (k8s.io/apiextensions-apiserver/pkg/controller/finalizer) gives up at a conflict and relies on the event of the other
// write. That write was its own, of the condition Terminating alone, and has no such event. Only the resynchronisation
// finds the definition again, within 5 minutes. Any other write does at once.
func (x *tampering) remind(ctx context.Context) error {
	// The uid keeps the reminder away from the next definition of this name.
	body := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{"tamper.example.com/reminder":"1"}}}`,
		x.before.GetUID())
	_, err := x.resource.Patch(ctx, x.name(), types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: kit.Tamperer})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone now
	}
	return err
}

// repair restores the object directly after a failure, so that the next tampering is judged independently.
func (x *tampering) repair(ctx context.Context) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		body, err := json.Marshal(x.content(x.before, same))
		if err != nil {
			return fmt.Errorf("encode %s: %w", x.object, err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(body); err != nil {
			return fmt.Errorf("decode %s: %w", x.object, err)
		}
		now, err := x.get(ctx)
		if err != nil {
			return err
		}
		u.SetResourceVersion(now.GetResourceVersion())
		_, err = x.resource.Update(ctx, u, metav1.UpdateOptions{FieldManager: kit.Tamperer})
		return err
	})
}
