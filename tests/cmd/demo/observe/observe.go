// Package observe watches the cluster for the demo, independently of the operator. It reports the time of an object's
// departure from Helm's state and of its return, and objects that changed back and forth while Helm worked.
package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// helmSelector selects the objects managed by Helm.
const helmSelector = "app.kubernetes.io/managed-by=Helm"

// ID names an object.
type ID struct{ Kind, Namespace, Name string }

// String returns "ConfigMap apps/shop".
func (id ID) String() string { return id.Kind + " " + id.Namespace + "/" + id.Name }

// Mark is a position in the sequence of observations.
type Mark int

// sighting is one event of a watch.
type sighting struct {
	id      ID
	at      time.Time
	content map[string]any // nil for an object that was deleted
}

// Observer watches objects of a few kinds in a few namespaces. It is safe for concurrent use.
type Observer struct {
	client     dynamic.Interface
	resources  []schema.GroupVersionResource
	namespaces []string
	stop       context.CancelFunc
	running    sync.WaitGroup

	mu        sync.Mutex
	seen      []sighting
	reference map[ID]map[string]any // as Helm left the objects
	err       error                 // why a watch ended, if one did
	more      chan struct{}         // closed, and replaced, when seen or err changed
}

// Start begins to watch; the watches end with ctx or Close. They deliver only the changes after Start.
func Start(
	ctx context.Context, client dynamic.Interface, resources []schema.GroupVersionResource, namespaces ...string,
) (*Observer, error) {
	ctx, stop := context.WithCancel(ctx)
	o := &Observer{client: client, resources: resources, namespaces: namespaces, stop: stop,
		reference: map[ID]map[string]any{}, more: make(chan struct{})}
	for _, namespace := range namespaces {
		for _, resource := range resources {
			if err := o.watch(ctx, resource, namespace); err != nil {
				o.Close()
				return nil, err
			}
		}
	}
	return o, nil
}

// Close ends the watches.
func (o *Observer) Close() {
	o.stop()
	o.running.Wait()
}

func (o *Observer) watch(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
	client := o.client.Resource(resource).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("list %s in %s: %w", resource.Resource, namespace, err)
	}
	stream, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return fmt.Errorf("watch %s in %s: %w", resource.Resource, namespace, err)
	}
	o.running.Go(func() {
		defer stream.Stop()
		for event := range stream.ResultChan() {
			if event.Type == watch.Error {
				break
			}
			o.see(event)
		}
		if ctx.Err() == nil {
			o.fail(fmt.Errorf("the demo's watch of %s in %s ended", resource.Resource, namespace))
		}
	})
	return nil
}

func (o *Observer) see(event watch.Event) {
	now := time.Now()
	obj, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	s := sighting{id: idOf(obj), at: now}
	if event.Type != watch.Deleted {
		s.content = content(obj)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, s)
	o.wake()
}

func (o *Observer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = errors.Join(o.err, err)
	o.wake()
}

// wake makes all waiting callers check their condition again. The caller holds mu.
func (o *Observer) wake() {
	close(o.more)
	o.more = make(chan struct{})
}

// Now returns the current mark.
func (o *Observer) Now() Mark {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Mark(len(o.seen))
}

// Remember records Helm's current objects in a namespace as Helm's state, and returns their number.
func (o *Observer) Remember(ctx context.Context, namespace string) (int, error) {
	objects, err := o.managed(ctx, namespace)
	if err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.reference, func(id ID, _ map[string]any) bool { return id.Namespace == namespace })
	for i := range objects {
		o.reference[idOf(&objects[i])] = content(&objects[i])
	}
	return len(objects), nil
}

// managed returns Helm's existing objects in a namespace.
func (o *Observer) managed(ctx context.Context, namespace string) (all []unstructured.Unstructured, err error) {
	for _, resource := range o.resources {
		list, err := o.client.Resource(resource).Namespace(namespace).List(ctx,
			metav1.ListOptions{LabelSelector: helmSelector})
		if err != nil {
			return nil, fmt.Errorf("list %s in %s: %w", resource.Resource, namespace, err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// Episode is one departure of an object from how Helm left it.
type Episode struct {
	ID ID
	// Changes lists the differences, without the values of Secrets.
	Changes []string
	// Drifted is when the first difference arrived, Restored when the object was back; zero while it is not.
	Drifted, Restored time.Time
}

// Restored waits until an object departed, after since, from how Helm left it, and was back.
func (o *Observer) Restored(ctx context.Context, since Mark, id ID) (Episode, error) {
	for {
		o.mu.Lock()
		episode, more, err := o.episode(since, id), o.more, o.err
		o.mu.Unlock()
		switch {
		case !episode.Restored.IsZero():
			return episode, nil
		case err != nil:
			return episode, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return episode, fmt.Errorf("%s was not restored: %w", id, ctx.Err())
		}
	}
}

// episode finds the first departure of an object after since. The caller holds mu.
func (o *Observer) episode(since Mark, id ID) Episode {
	e := Episode{ID: id}
	want := o.reference[id]
	for _, s := range o.seen[since:] {
		if s.id != id {
			continue
		}
		same := s.content != nil && reflect.DeepEqual(s.content, want)
		switch {
		case !same && e.Drifted.IsZero():
			e.Drifted, e.Changes = s.at, describe(id.Kind, want, s.content)
		case same && !e.Drifted.IsZero():
			e.Restored = s.at
			return e
		}
	}
	return e
}

// Flaps returns the objects that changed back and forth in a namespace after since: they had a content, then another,
// then the first one again, or they were deleted and re-created.
func (o *Observer) Flaps(since Mark, namespace string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	past := map[ID][]map[string]any{}
	for id, c := range o.reference {
		past[id] = []map[string]any{c}
	}
	var flaps []string
	for _, s := range o.seen[since:] {
		if _, ours := o.reference[s.id]; !ours || s.id.Namespace != namespace {
			continue
		}
		before := past[s.id]
		last := before[len(before)-1]
		if reflect.DeepEqual(last, s.content) {
			continue
		}
		for _, old := range before {
			if last == nil || reflect.DeepEqual(old, s.content) {
				flaps = append(flaps, s.id.String())
				break
			}
		}
		past[s.id] = append(before, s.content)
	}
	return flaps
}

// Left returns the names of Helm's existing objects in a namespace.
func (o *Observer) Left(ctx context.Context, namespace string) (left []string, err error) {
	objects, err := o.managed(ctx, namespace)
	for i := range objects {
		left = append(left, idOf(&objects[i]).String())
	}
	return left, err
}

func idOf(obj *unstructured.Unstructured) ID {
	return ID{Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
