package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// sink takes what a feed delivers, in order, from one goroutine.
type sink interface {
	observed(obj runtime.Object)
	gone(obj runtime.Object)
	// replaced delivers everything that exists, at the start and after a gap.
	replaced(objs []runtime.Object)
}

// feed runs one client-go Reflector that stores nothing: it is a list and a watch, with the Reflector's care for
// bookmarks, expired resource versions and back-off, and passes every event on.
type feed struct {
	name      string
	sink      sink
	log       logrus.FieldLogger
	reflector *cache.Reflector
	// begun is closed right before the first list is delivered, synced right after. Whoever registers for events and then
	// finds begun open gets all of the list; whoever finds it closed may have missed some, and has to look.
	begun, synced chan struct{}
	once          sync.Once

	mu  sync.Mutex
	err error
}

func newFeed(name string, lw cache.ListerWatcher, example runtime.Object, s sink, log logrus.FieldLogger) *feed {
	f := &feed{name: name, sink: s, log: log, begun: make(chan struct{}), synced: make(chan struct{})}
	retry := backoff()
	f.reflector = cache.NewReflectorWithOptions(lw, example, f, cache.ReflectorOptions{Name: name, TypeDescription: name, Backoff: &retry})
	return f
}

// backoff spaces out attempts to list and watch. It begins early, because drift lives on while a watch is down.
func backoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 15 * time.Second}
}

// run lists and watches until ctx ends. It is the Reflector's own loop, with errors told to those who ask for them.
func (f *feed) run(ctx context.Context) {
	err := backoff().DelayWithReset(clock.RealClock{}, time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := f.reflector.ListAndWatchWithContext(ctx); err != nil {
			f.failed(err)
		}
		return false, nil
	})
	if err != nil && ctx.Err() == nil {
		f.failed(err)
	}
}

func (f *feed) failed(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		f.log.Debugf("watch of %s expired; listing anew", f.name)
		return
	}
	if errors.Is(err, context.Canceled) {
		return
	}
	f.log.Warnf("watch of %s: %v; trying again", f.name, err)
	f.setError(err)
}

func (f *feed) setError(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *feed) lastError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Add, Update, Delete, Replace and Resync make the feed a cache.ReflectorStore.

func (f *feed) Add(obj any) error { return f.Update(obj) }

func (f *feed) Update(obj any) error {
	o, ok := obj.(runtime.Object)
	if !ok {
		return fmt.Errorf("watch of %s delivered a %T", f.name, obj)
	}
	f.sink.observed(o)
	return nil
}

func (f *feed) Delete(obj any) error {
	o, ok := obj.(runtime.Object)
	if !ok {
		return fmt.Errorf("watch of %s delivered a %T", f.name, obj)
	}
	f.sink.gone(o)
	return nil
}

func (f *feed) Replace(items []any, _ string) error {
	objs := make([]runtime.Object, 0, len(items))
	for _, item := range items {
		o, ok := item.(runtime.Object)
		if !ok {
			return fmt.Errorf("watch of %s listed a %T", f.name, item)
		}
		objs = append(objs, o)
	}
	f.setError(nil)
	first := false
	f.once.Do(func() { first = true; close(f.begun) })
	f.sink.replaced(objs)
	if first {
		close(f.synced)
	}
	return nil
}

func (f *feed) Resync() error { return nil }
