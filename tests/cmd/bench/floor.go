package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// floorWrites is how many writes the floor makes at once; as many as the operator.
const floorWrites = 24

var (
	configMapsGVR  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deploymentsGVR = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// floor is the least work of a reactor: it watches, detects an object that is not as declared, and patches it back
// with a prepared patch. It knows nothing of Helm, and no precondition prevents it from undoing a write of Helm's.
type floor struct {
	client *client
	writes chan struct{}

	mu      sync.Mutex
	patches map[object][]byte
	err     error
}

// newFloor returns a floor that reacts until ctx ends.
func newFloor(ctx context.Context, c *client) (*floor, error) {
	f := &floor{client: c, writes: make(chan struct{}, floorWrites), patches: map[object][]byte{}}
	for _, gvr := range []schema.GroupVersionResource{configMapsGVR, deploymentsGVR} {
		take := func(event apiwatch.Event) { f.take(ctx, gvr == deploymentsGVR, event) }
		s := listWatch(c.dynamic.Resource(gvr), managedByLabel+"="+managedByFloor)
		if err := follow(ctx, s, take, f.failed); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// protect has the floor react to changes of the objects.
func (f *floor) protect(objects []object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range objects {
		patch, err := json.Marshal(o.restoring())
		if err != nil {
			return fmt.Errorf("encode the patch of %s: %w", o.name, err)
		}
		f.patches[o] = patch
	}
	return nil
}

// error returns the first error.
func (f *floor) error() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *floor) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = fmt.Errorf("floor: %w", err)
	}
}

func (f *floor) take(ctx context.Context, deployment bool, event apiwatch.Event) {
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type == apiwatch.Bookmark {
		return
	}
	o := object{deployment: deployment, namespace: u.GetNamespace(), name: u.GetName()}
	f.mu.Lock()
	patch := f.patches[o]
	f.mu.Unlock()
	if patch == nil || (event.Type != apiwatch.Deleted && isDeclaredUnstructured(u)) {
		return
	}
	f.writes <- struct{}{}
	go func() {
		defer func() { <-f.writes }()
		var err error
		if event.Type == apiwatch.Deleted {
			err = f.client.create(ctx, o, "floor")
		} else {
			err = f.client.patch(ctx, o, types.MergePatchType, patch)
		}
		if err != nil && ctx.Err() == nil {
			f.failed(err)
		}
	}()
}
