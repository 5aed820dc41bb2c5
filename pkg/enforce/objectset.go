package enforce

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/apply"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// byHash is the index through which wrangler asks for the objects of a set.
const byHash = "wrangler.byObjectSetHash"

// revertQPS lifts wrangler's own rate limit of one apply per second and set: reverts have a budget per object instead.
const revertQPS = 1e6

// objectSet drives reverts through wrangler's apply. The members of its ObjectSets are references (kind, namespace,
// name): wrangler compares the set with what was observed, decides whether a member is created or updated, and
// calls back for the write. Contents stay out of it for two reasons: wrangler logs the objects and patches it
// computes at debug level, and those may be Secrets; and its three-way patch cannot take out a list element whose
// merge key was edited.
type objectSet struct{ apply apply.Apply }

func newObjectSet(client discovery.DiscoveryInterface) *objectSet {
	factory := func(schema.GroupVersionResource) (dynamic.NamespaceableResourceInterface, error) {
		return creator{}, nil
	}
	return &objectSet{apply: apply.New(client, factory)}
}

// call is one revert on its way through wrangler; it travels in the context, to the creator below.
type call struct {
	writer *writer
	revert *Revert
	result *unstructured.Unstructured
	err    error
	made   bool
}

type callKey struct{}

// revert applies the set of one release to one drifted object, by a writer, and returns the object as it then is.
func (s *objectSet) revert(
	ctx context.Context, w *writer, setID string, r *Revert,
) (*unstructured.Unstructured, error) {
	c := &call{writer: w, revert: r}
	err := s.apply.
		WithContext(context.WithValue(ctx, callKey{}, c)).
		WithSetID(setID).
		WithDefaultNamespace(r.ID.Namespace).
		WithRateLimiting(revertQPS).
		WithNoDelete().
		WithIgnorePreviousApplied().
		WithCacheTypeFactory(observed{live: r.Live}).
		WithReconciler(r.GVK, func(runtime.Object, runtime.Object) (bool, error) { return false, nil }).
		WithPatcher(r.GVK, func(string, string, types.PatchType, []byte) (runtime.Object, error) {
			c.made = true
			c.result, c.err = w.update(ctx, r, false)
			return nil, c.err
		}).
		ApplyObjects(reference(r))
	if c.made {
		// The API server's own answer says more than what wrangler makes of it.
		return c.result, c.err
	}
	if err == nil {
		err = errors.New("wrangler found nothing to apply")
	}
	return nil, fmt.Errorf("apply %s: %w", r.ID, err)
}

// reference returns the member of the ObjectSet that stands for the object.
func reference(r *Revert) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.GVK)
	u.SetNamespace(r.ID.Namespace)
	u.SetName(r.ID.Name)
	return u
}

// observed is the informer factory that shows wrangler exactly the object that was judged, so that nothing newer or
// older than it is acted on and no request is needed.
type observed struct{ live *unstructured.Unstructured }

func (o observed) Get(schema.GroupVersionKind, schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
	return observedInformer{indexer: observedIndexer{live: o.live}}, nil
}

type observedInformer struct {
	cache.SharedIndexInformer
	indexer observedIndexer
}

func (i observedInformer) GetIndexer() cache.Indexer { return i.indexer }

type observedIndexer struct {
	cache.Indexer
	live *unstructured.Unstructured
}

func (i observedIndexer) GetIndexers() cache.Indexers {
	return cache.Indexers{byHash: func(any) ([]string, error) { return nil, nil }}
}

func (i observedIndexer) ByIndex(string, string) ([]any, error) {
	if i.live == nil {
		return nil, nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(i.live.GroupVersionKind())
	u.SetNamespace(i.live.GetNamespace())
	u.SetName(i.live.GetName())
	return []any{u}, nil
}

// creator is the client that wrangler creates objects with. It creates what the call in the context says.
type creator struct {
	dynamic.NamespaceableResourceInterface
}

func (c creator) Namespace(string) dynamic.ResourceInterface { return c }

func (c creator) Create(
	ctx context.Context, _ *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string,
) (*unstructured.Unstructured, error) {
	call, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return nil, errors.New("a creation without its revert")
	}
	call.made = true
	call.result, call.err = call.writer.create(ctx, call.revert)
	return call.result, call.err
}

// Get answers wrangler's look at an object that turned out to exist: the caller takes a fresh look and starts anew.
func (c creator) Get(
	ctx context.Context, _ string, _ metav1.GetOptions, _ ...string,
) (*unstructured.Unstructured, error) {
	if call, ok := ctx.Value(callKey{}).(*call); ok && call.err != nil {
		return nil, call.err
	}
	return nil, errors.New("a look without its revert")
}
