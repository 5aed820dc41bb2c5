package main

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// observer sees, by watches of its own, when objects are as declared. It is safe for concurrent use.
type observer struct {
	mu      sync.Mutex
	sights  map[object]sight
	waiting map[object]uint64
	done    chan struct{} // closed when waiting gets empty
	told    func(object, time.Time)
	err     error
}

// sight is the last observed state of an object.
type sight struct {
	version  uint64
	declared bool
	// turned and at are the version and the time of its last restoration.
	turned uint64
	at     time.Time
}

// newObserver returns an observer that watches until ctx ends.
func newObserver(ctx context.Context, c *client) (*observer, error) {
	o := &observer{sights: map[object]sight{}}
	for _, kind := range []object{{deployment: false}, {deployment: true}} {
		s := cache.NewFilteredListWatchFromClient(c.to(kind), kind.resource(), metav1.NamespaceAll,
			func(options *metav1.ListOptions) { options.LabelSelector = benchLabel })
		if err := follow(ctx, s, o.take, o.failed); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// tell sets f as the callback for every restoration; nil for none.
func (o *observer) tell(f func(object, time.Time)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = f
}

func (o *observer) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
	if o.waiting != nil {
		o.waiting = nil
		close(o.done)
	}
}

func (o *observer) take(event apiwatch.Event) {
	now := time.Now()
	obj, ok := event.Object.(metav1.Object)
	if !ok || event.Type == apiwatch.Bookmark {
		return
	}
	key := keyOf(obj)
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.sights[key]
	was := s.declared
	s.version, s.declared = versionOf(obj), event.Type != apiwatch.Deleted && isDeclared(obj)
	if s.declared && !was {
		s.turned, s.at = s.version, now
		if o.told != nil {
			o.told(key, now)
		}
	}
	o.sights[key] = s
	if after, waits := o.waiting[key]; waits && s.declared && s.turned > after {
		delete(o.waiting, key)
		if len(o.waiting) == 0 {
			o.waiting = nil
			close(o.done)
		}
	}
}

// keyOf returns the object's key without its release: only fields open to tampering name the release.
func keyOf(obj metav1.Object) object {
	_, deployment := obj.(*appsv1.Deployment)
	return object{deployment: deployment, namespace: obj.GetNamespace(), name: obj.GetName()}
}

func (o object) key() object {
	o.release = ""
	return o
}

// mark returns the last observed versions of objects. Call it before tampering.
func (o *observer) mark(objects ...object) map[object]uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	versions := make(map[object]uint64, len(objects))
	for _, obj := range objects {
		versions[obj.key()] = o.sights[obj.key()].version
	}
	return versions
}

// restored waits until every object has been restored after its marked version, and returns the times. When ctx ends
// before, it returns the restorations so far. Only one caller may wait at a time.
func (o *observer) restored(ctx context.Context, marked map[object]uint64) (map[object]time.Time, error) {
	done := make(chan struct{})
	o.mu.Lock()
	remaining := map[object]uint64{}
	for key, after := range marked {
		if s := o.sights[key]; !s.declared || s.turned <= after {
			remaining[key] = after
		}
	}
	if len(remaining) == 0 || o.err != nil {
		close(done)
	} else {
		o.waiting, o.done = remaining, done
	}
	o.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = nil
	times := make(map[object]time.Time, len(marked))
	for key, after := range marked {
		if s := o.sights[key]; s.turned > after {
			times[key] = s.at
		}
	}
	return times, o.err
}
