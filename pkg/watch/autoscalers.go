package watch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
)

var autoscalersGVR = schema.GroupVersionResource{Group: "autoscaling", Version: "v2",
	Resource: "horizontalpodautoscalers"}

// Autoscalers follows the HorizontalPodAutoscalers of the cluster while they are needed: while an object is locked
// whose replicas one of them could set. It is safe for concurrent use.
type Autoscalers struct {
	client  dynamic.NamespaceableResourceInterface
	log     logrus.FieldLogger
	changed func([]manifest.ID)
	known   judge.Autoscalers

	mu      sync.Mutex
	ctx     context.Context // of Start; nil before
	users   map[string]struct{}
	feed    *feed[*unstructured.Unstructured] // nil while it is not needed
	stop    context.CancelFunc
	ended   chan struct{} // of the last feed, so that two never deliver at once; nil before the first
	running sync.WaitGroup
}

// NewAutoscalers returns a follower that calls changed, from one goroutine, with the objects for which the range of
// replicas is another one now. changed must only enqueue.
func NewAutoscalers(client dynamic.Interface, log logrus.FieldLogger, changed func([]manifest.ID)) *Autoscalers {
	return &Autoscalers{client: client.Resource(autoscalersGVR), log: log, changed: changed,
		users: map[string]struct{}{}}
}

// Start lets the watch run while it is needed, until ctx ends.
func (a *Autoscalers) Start(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ctx = ctx
}

// Wait returns when the watch has ended after the context of Start did.
func (a *Autoscalers) Wait() { a.running.Wait() }

// Bounds on List: a request that takes longer is not answered, and a namespace may have many autoscalers.
const (
	autoscalersTimeout = 5 * time.Second
	autoscalersPage    = 100
)

// List returns the autoscalers of a namespace as they are now, by a consistent list. The watch can be behind, or can
// have delivered nothing yet.
func (a *Autoscalers) List(ctx context.Context, namespace string) (*judge.Autoscalers, error) {
	ctx, cancel := context.WithTimeout(ctx, autoscalersTimeout)
	defer cancel()
	known, options := &judge.Autoscalers{}, metav1.ListOptions{Limit: autoscalersPage}
	for {
		page, err := a.client.Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list the HorizontalPodAutoscalers of namespace %s: %w", namespace, err)
		}
		for i := range page.Items {
			known.Set(&page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return known, nil
		}
	}
}

// Drop says that owner needs autoscalers no more. The watch ends with the last one who does.
func (a *Autoscalers) Drop(owner string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.users, owner)
	if len(a.users) == 0 && a.feed != nil {
		a.stop()
		a.feed = nil
	}
}

// Need follows the autoscalers until owner, and every other one, drops them.
func (a *Autoscalers) Need(owner string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users[owner] = struct{}{}
	if a.feed != nil || a.ctx == nil || a.ctx.Err() != nil {
		return
	}
	ctx, stop := context.WithCancel(a.ctx)
	f := newFeed("HorizontalPodAutoscalers", a.listWatch(), &unstructured.Unstructured{}, (*autoscalerSink)(a), a.log)
	before, ended := a.ended, make(chan struct{})
	a.feed, a.stop, a.ended = f, stop, ended
	a.running.Add(1)
	go func() {
		defer a.running.Done()
		defer close(ended)
		defer stop()
		if before != nil {
			<-before
		}
		f.run(ctx)
	}()
}

// Known returns the autoscalers that the watch has delivered.
func (a *Autoscalers) Known() *judge.Autoscalers { return &a.known }

func (a *Autoscalers) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return a.client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return a.client.Watch(ctx, o)
		},
	}
}

// autoscalerSink takes the events of the feed.
type autoscalerSink Autoscalers

func (s *autoscalerSink) tell(ids []manifest.ID) {
	if len(ids) > 0 {
		s.changed(ids)
	}
}

func (s *autoscalerSink) observed(obj *unstructured.Unstructured) { s.tell(s.known.Set(obj)) }

func (s *autoscalerSink) gone(obj *unstructured.Unstructured) {
	s.tell(s.known.Remove(types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}))
}

func (s *autoscalerSink) listed(present map[types.NamespacedName]struct{}) {
	for _, name := range s.known.Names() {
		if _, exists := present[name]; !exists {
			s.tell(s.known.Remove(name))
		}
	}
}
