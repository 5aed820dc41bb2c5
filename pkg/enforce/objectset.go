package enforce

import (
	"errors"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/pkg/release"
)

// SetID names the ObjectSet of a release.
func SetID(key release.Key) string { return "helm-locker/" + key.String() }

// revertQPS lifts wrangler's own rate limit of one apply per second and set: reverts have a budget per object instead.
const revertQPS = 1e6

// newApply returns wrangler's apply without a client: it writes nothing itself.
func newApply(client discovery.DiscoveryInterface) apply.Apply {
	return apply.New(client, func(schema.GroupVersionResource) (dynamic.NamespaceableResourceInterface, error) {
		return nil, nil
	})
}

// applySet applies the ObjectSet of a release to one drifted object by the function write. The member of the set is a
// reference without content: wrangler logs contents, and they may be those of a Secret. docs/architecture.md explains
// why wrangler's own comparison does not help.
func applySet(
	sets apply.Apply, setID string, r *Revert, write func() (*unstructured.Unstructured, error),
) (done *unstructured.Unstructured, err error) {
	labels, _, err := apply.GetLabelsAndAnnotations(setID, nil)
	if err != nil {
		return nil, err
	}
	ref := &unstructured.Unstructured{}
	ref.SetLabels(labels)
	ref.SetGroupVersionKind(r.GVK)
	ref.SetNamespace(r.Namespace)
	ref.SetName(r.Name)
	written := false
	applied := sets.WithSetID(setID).WithDefaultNamespace(r.Namespace).WithRateLimiting(revertQPS).WithNoDelete().
		WithCacheTypeFactory(observed{ref}).
		WithReconciler(r.GVK, func(runtime.Object, runtime.Object) (bool, error) {
			written = true
			done, err = write()
			return true, err
		}).
		ApplyObjects(ref)
	if written {
		return done, err // the API server's own answer says more than what wrangler makes of it
	}
	return nil, fmt.Errorf("apply %s: %w", r.Object, errors.Join(errors.New("wrangler did not call back"), applied))
}

// observed is an informer factory that shows wrangler the member as existing and different. So wrangler leaves every
// write to the reconciler, a creation too.
type observed struct{ ref *unstructured.Unstructured }

func (o observed) Get(schema.GroupVersionKind, schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, o.ref, 0, cache.Indexers{})
	return informer, informer.GetIndexer().Add(o.ref)
}
