package enforce

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/managers"
)

// update turns the live object into the target with the requests that Helm itself would have sent. With dryRun it
// returns the result without a write. An object returned with an error has the content, but Helm does not own all of it
// yet. The next judgement finds that, too, by managers.Revert.
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
