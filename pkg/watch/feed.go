package watch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// sink receives the events of a feed, in order, from one goroutine.
type sink[T any] interface {
	observed(obj T)
	gone(obj T)
	// listed is called at the start and after a gap, once every existing object was passed to observed. An object
	// outside of present does not exist.
	listed(present map[types.NamespacedName]struct{})
}

// feed runs one client-go Reflector without a store. It lists and watches, with the Reflector's support for bookmarks,
// expired resource versions and back-off, and passes every event on. It passes on the objects of a list as they arrive
// and keeps only their names, so a list of thousands of objects takes no memory for them.
type feed[T metav1.Object] struct {
	name      string
	sink      sink[T]
	log       logrus.FieldLogger
	reflector *cache.Reflector
	// begun is closed right before the first list is delivered, synced right after. A caller that registers for events
	// and then finds begun open receives all of the list. Otherwise it may have missed some objects, and must get them.
	begun, synced   chan struct{}
	beginOnce, once sync.Once
	// troubled, if set, is called after each change of lastError; it is set before the feed runs.
	troubled func()
	// rewound, if set, is called when resource versions begin again; it is set before the feed runs.
	rewound func()

	// Only the goroutine of run uses these. delivered is set by every event of a watch, bookmarks included. newest is
	// the resource version up to which everything is delivered; zero when unknown.
	delivered bool
	newest    uint64
	retry     wait.Backoff

	mu  sync.Mutex
	err error
	// again ends the running attempt, so that the next one lists again; nil before the first.
	again context.CancelFunc
}

func newFeed[T metav1.Object](
	name string, lw *cache.ListWatch, example T, s sink[T], log logrus.FieldLogger,
) *feed[T] {
	f := &feed[T]{name: name, sink: s, log: log, begun: make(chan struct{}), synced: make(chan struct{}),
		retry: backoff(longestDelay)}
	refused := backoff(longestRefusedDelay)
	options := cache.ReflectorOptions{Name: name, TypeDescription: name, Backoff: &refused}
	f.reflector = cache.NewReflectorWithOptions(limited(lw, Deadline), example, f, options)
	return f
}

const (
	// longestDelay bounds the delay between two attempts to list and watch.
	longestDelay = 15 * time.Second
	// longestRefusedDelay bounds the delay between two attempts to resume a watch when the connection is refused. It is
	// short, because the Reflector does not reset that delay for two minutes.
	longestRefusedDelay = 3 * time.Second
)

// backoff spaces out attempts. It begins early, because drift lives on while a watch is down.
func backoff(longest time.Duration) wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: longest}
}

// run lists and watches until ctx ends. It is the Reflector's own loop with two differences: it reports errors, and it
// resets its delays after a watch that delivered something or lasted for a while.
func (f *feed[T]) run(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		f.delivered = false
		f.attempt(ctx)
		delay := time.NewTimer(f.delay(time.Since(begun)))
		select {
		case <-ctx.Done():
		case <-delay.C:
		}
		delay.Stop()
	}
}

// attempt lists and watches until the watch ends, or relist is called.
func (f *feed[T]) attempt(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mu.Lock()
	f.again = cancel
	f.mu.Unlock()
	if err := f.reflector.ListAndWatchWithContext(ctx); err != nil {
		f.failed(err)
	}
}

// relist has everything listed again.
func (f *feed[T]) relist() {
	f.mu.Lock()
	again := f.again
	f.mu.Unlock()
	if again != nil {
		again()
	}
}

// delay returns the wait after an attempt of a duration.
func (f *feed[T]) delay(lasted time.Duration) time.Duration {
	if f.delivered || lasted > longestDelay {
		f.retry = backoff(longestDelay)
	}
	return f.retry.Step()
}

// UpdateResourceVersion makes the feed a cache.ResourceVersionUpdater: the Reflector calls it for every event of a
// watch.
func (f *feed[T]) UpdateResourceVersion(version string) {
	f.delivered = true
	f.advance(version)
}

// advance records the resource version up to which everything is delivered. Versions grow, unless the storage of the
// API server is restored from a backup. Then earlier versions no longer order events, and everything is listed again.
func (f *feed[T]) advance(version string) {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return // of an aggregated API server
	}
	before := f.newest
	f.newest = n
	if n >= before {
		return
	}
	f.log.Warnf("the resource versions of %s went back from %d to %d, as after a restored backup; listing again",
		f.name, before, n)
	if f.rewound != nil {
		f.rewound()
	}
	f.relist()
}

func (f *feed[T]) failed(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		f.log.Debugf("watch of %s expired; listing again", f.name)
		return
	}
	if errors.Is(err, context.Canceled) {
		return
	}
	f.log.Warnf("watch of %s: %v; trying again", f.name, err)
	f.setError(err)
}

func (f *feed[T]) setError(err error) {
	f.mu.Lock()
	news := (f.err == nil) != (err == nil) || err != nil && f.err.Error() != err.Error()
	f.err = err
	f.mu.Unlock()
	if news && f.troubled != nil {
		f.troubled()
	}
}

func (f *feed[T]) lastError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Add, Update, Delete, Replace and Resync make the feed a cache.ReflectorStore.

func (f *feed[T]) Add(obj any) error { return f.Update(obj) }

func (f *feed[T]) Update(obj any) error {
	o, err := f.object(obj)
	if err == nil {
		f.sink.observed(o)
	}
	return err
}

func (f *feed[T]) Delete(obj any) error {
	o, err := f.object(obj)
	if err == nil {
		f.sink.gone(o)
	}
	return err
}

func (f *feed[T]) object(obj any) (T, error) {
	o, ok := obj.(T)
	if !ok {
		return o, fmt.Errorf("watch of %s delivered a %T", f.name, obj)
	}
	return o, nil
}

func (f *feed[T]) Replace(items []any, version string) error {
	f.begin()
	f.setError(nil)
	present := make(map[types.NamespacedName]struct{}, len(items))
	for _, item := range items {
		listed, delivered := item.(*listedObject)
		if !delivered {
			o, err := f.object(item)
			if err != nil {
				return err
			}
			listed = f.deliver(o)
		}
		present[types.NamespacedName{Namespace: listed.Namespace, Name: listed.Name}] = struct{}{}
	}
	f.sink.listed(present)
	f.once.Do(func() { close(f.synced) })
	f.advance(version)
	return nil
}

func (f *feed[T]) begin() { f.beginOnce.Do(func() { close(f.begun) }) }

// listedObject is the name of an object that was delivered while the Reflector still lists.
type listedObject struct{ metav1.PartialObjectMetadata }

// deliver passes on an object of an incomplete list.
func (f *feed[T]) deliver(obj T) *listedObject {
	f.begin()
	f.sink.observed(obj)
	listed := &listedObject{}
	listed.Namespace, listed.Name = obj.GetNamespace(), obj.GetName()
	return listed
}

// Transformer makes the feed a cache.TransformingStore: the Reflector passes it the objects of a streamed list, one by
// one.
func (f *feed[T]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		o, err := f.object(obj)
		if err != nil {
			return nil, err
		}
		return f.deliver(o), nil
	}
}

func (f *feed[T]) Resync() error { return nil }
