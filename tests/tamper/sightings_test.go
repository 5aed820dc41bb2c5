package tamper

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// patience is the timeout of a restoration.
	patience = 30 * time.Second
	// impatience is that for kinds of tamperings already unrestored, so that one gap does not cost half an hour.
	impatience = 3 * time.Second
)

// sighting is a state of an object, and when a watcher saw it.
type sighting struct {
	*unstructured.Unstructured
	at   time.Time
	gone bool
}

// sightings are the states seen by a watch of one object, which starts before the first tampering: its start does not
// count.
type sightings struct {
	object *object
	watch  watch.Interface
	seen   chan sighting
}

// follow begins to watch an object, and returns it as it is now.
func (o *object) follow(ctx context.Context) (*unstructured.Unstructured, *sightings, error) {
	options := metav1.ListOptions{FieldSelector: "metadata.name=" + o.name()}
	list, err := o.resource.List(ctx, options)
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", o, err)
	}
	if len(list.Items) != 1 {
		return nil, nil, fmt.Errorf("%s does not exist", o)
	}
	options.ResourceVersion = list.GetResourceVersion()
	w, err := o.resource.Watch(ctx, options)
	if err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", o, err)
	}
	s := &sightings{object: o, watch: w, seen: make(chan sighting, 4096)}
	go func() {
		defer close(s.seen)
		for event := range w.ResultChan() {
			u, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Error || event.Type == watch.Bookmark {
				continue
			}
			select {
			case s.seen <- sighting{Unstructured: u, at: time.Now(), gone: event.Type == watch.Deleted}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return &list.Items[0], s, nil
}

// until waits for the first state after a version without a difference, and returns its time. After the timeout it
// returns the remaining differences.
func (s *sightings) until(
	after string, wait time.Duration, differs func(*unstructured.Unstructured) string,
) (seen time.Time, remains string, err error) {
	version, err := strconv.ParseUint(after, 10, 64)
	if err != nil {
		return time.Time{}, "", fmt.Errorf("the version of %s: %w", s.object, err)
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	remains = ": nobody wrote to it"
	for {
		select {
		case <-deadline.C:
			return time.Time{}, remains, nil
		case sight, ok := <-s.seen:
			if !ok {
				return time.Time{}, "", fmt.Errorf("the watch of %s ended", s.object)
			}
			now, err := strconv.ParseUint(sight.GetResourceVersion(), 10, 64)
			if err != nil {
				return time.Time{}, "", fmt.Errorf("the version of %s: %w", s.object, err)
			}
			switch {
			case now <= version:
			case sight.gone:
				remains = ": it does not exist"
			default:
				if remains = differs(sight.Unstructured); remains == "" {
					return sight.at, "", nil
				}
			}
		}
	}
}
