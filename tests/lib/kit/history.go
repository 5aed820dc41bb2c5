package kit

import (
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// ObjectKey names an object in a History.
type ObjectKey struct {
	Resource schema.GroupVersionResource
	Name     string
}

// History is an independent watch's record of the objects in a namespace: every state stored by the API server, in
// order.
type History struct {
	env       *Env
	namespace string

	mu      sync.Mutex
	states  map[ObjectKey][]*unstructured.Unstructured
	version map[ObjectKey]string
}

// Record starts to record every state of the objects of some resources in Apps, beginning with the existing ones,
// until the test ends. Helm's own Secrets are left out. A broken watch fails the test, because states could be
// missing.
func (e *Env) Record(resources ...schema.GroupVersionResource) *History {
	e.Helper()
	return e.RecordIn(e.Apps, resources...)
}

// RecordIn is Record for another namespace.
func (e *Env) RecordIn(namespace string, resources ...schema.GroupVersionResource) *History {
	e.Helper()
	h := &History{
		env: e, namespace: namespace,
		states: map[ObjectKey][]*unstructured.Unstructured{}, version: map[ObjectKey]string{},
	}
	var done sync.WaitGroup
	for _, gvr := range resources {
		client, options := e.Dynamic.Resource(gvr).Namespace(namespace), metav1.ListOptions{}
		if gvr == Secrets {
			options.FieldSelector = "type!=helm.sh/release.v1"
		}
		list, err := client.List(e.Ctx, options)
		check.NoError(e, err)
		for i := range list.Items {
			h.add(gvr, watch.Added, &list.Items[i])
		}
		options.ResourceVersion = list.GetResourceVersion()
		w, err := client.Watch(e.Ctx, options)
		check.NoError(e, err)
		stopped := make(chan struct{})
		done.Go(func() { h.follow(gvr, w, stopped) })
		e.Cleanup(func() {
			close(stopped)
			w.Stop()
			done.Wait()
		})
	}
	return h
}

func (h *History) follow(gvr schema.GroupVersionResource, w watch.Interface, stopped <-chan struct{}) {
	for event := range w.ResultChan() {
		if obj, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Error {
			h.add(gvr, event.Type, obj)
		}
	}
	select {
	case <-stopped:
	case <-h.env.Ctx.Done(): // the test ends
	default:
		h.env.Errorf("the watch that records %s has ended", gvr.Resource)
	}
}

func (h *History) add(gvr schema.GroupVersionResource, event watch.EventType, obj *unstructured.Unstructured) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := ObjectKey{gvr, obj.GetName()}
	h.version[key] = obj.GetResourceVersion()
	if event == watch.Deleted {
		obj = nil
	}
	h.states[key] = append(h.states[key], obj)
}

// States returns the recorded states of an object, oldest first; nil stands for its absence after a deletion.
func (h *History) States(gvr schema.GroupVersionResource, name string) []*unstructured.Unstructured {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*unstructured.Unstructured(nil), h.states[ObjectKey{gvr, name}]...)
}

// Objects returns the keys of all recorded objects.
func (h *History) Objects() []ObjectKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := make([]ObjectKey, 0, len(h.states))
	for key := range h.states {
		keys = append(keys, key)
	}
	return keys
}

// CatchUp waits until the current states of the existing objects are recorded.
func (h *History) CatchUp() {
	h.env.Helper()
	for _, key := range h.Objects() {
		h.env.Eventually("the newest state of "+key.Name+" is recorded", func() error {
			objects := h.env.Dynamic.Resource(key.Resource).Namespace(h.namespace)
			live, err := objects.Get(h.env.Ctx, key.Name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if err == nil && live.GetResourceVersion() != h.version[key] {
				return fmt.Errorf("%s %s is at %s, recorded is %s", key.Resource.Resource, key.Name,
					live.GetResourceVersion(), h.version[key])
			}
			return nil
		})
	}
}

// Throughout checks a condition repeatedly for a stated time, and fails the test when it does not hold. It measures
// that something does not happen; no test may use it as a delay.
func (e *Env) Throughout(period time.Duration, what string, holds func() error) {
	e.Helper()
	end := time.NewTimer(period)
	defer end.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := holds(); err != nil {
			e.Fatalf("not throughout %s: %s: %v", period, what, err)
		}
		select {
		case <-end.C:
			return
		case <-tick.C:
		}
	}
}
