package watch

import (
	"context"
	"maps"
	"sync"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

var namespacesGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespaces follows the labels of namespaces, by a metadata-only watch, while they are needed. It is safe for
// concurrent use.
type Namespaces struct {
	client  metadata.Getter
	log     logrus.FieldLogger
	changed func()

	mu      sync.Mutex
	feed    *feed[*metav1.PartialObjectMetadata] // nil while it is not needed
	seen    *namespaceSink                       // by that feed
	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewNamespaces returns a follower that calls changed when the labels of namespaces change, become known for the
// first time, or cannot be read. changed must only enqueue.
func NewNamespaces(client metadata.Interface, log logrus.FieldLogger, changed func()) *Namespaces {
	return &Namespaces{client: client.Resource(namespacesGVR), log: log, changed: changed}
}

// Labels returns the labels of all namespaces, by name; the labels must not be changed. It starts to follow them,
// until Drop is called or ctx ends. known is false until they are read for the first time; err is the error of that
// read.
func (n *Namespaces) Labels(ctx context.Context) (labels map[string]map[string]string, known bool, err error) {
	n.mu.Lock()
	n.begin(ctx)
	f, seen := n.feed, n.seen
	n.mu.Unlock()
	if labels, known = seen.all(); known {
		return labels, true, nil
	}
	return nil, false, f.lastError()
}

// begin starts the watch unless it runs. n.mu is held.
func (n *Namespaces) begin(ctx context.Context) {
	if n.feed != nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	seen := &namespaceSink{changed: n.changed, labels: map[string]map[string]string{}}
	f := newFeed("Namespaces", n.listWatch(), &metav1.PartialObjectMetadata{}, seen, n.log)
	f.troubled = n.changed
	n.feed, n.seen, n.stop = f, seen, stop
	n.running.Go(func() {
		defer stop()
		f.run(ctx)
	})
}

// Drop ends the watch.
func (n *Namespaces) Drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.feed != nil {
		n.stop()
		n.feed, n.seen = nil, nil
	}
}

// Wait returns when the watch has ended.
func (n *Namespaces) Wait() { n.running.Wait() }

func (n *Namespaces) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return n.client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return n.client.Watch(ctx, o)
		},
	}
}

// namespaceSink receives the events of one feed: a stopped feed may still deliver events beside the next one.
type namespaceSink struct {
	changed func()

	mu     sync.Mutex
	labels map[string]map[string]string // by namespace
	known  bool                         // labels has all namespaces
}

// all returns a copy of the labels, and whether they are those of all namespaces.
func (s *namespaceSink) all() (map[string]map[string]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.labels), s.known
}

func (s *namespaceSink) observed(m *metav1.PartialObjectMetadata) {
	s.mu.Lock()
	before, known := s.labels[m.Name]
	s.labels[m.Name] = m.Labels
	s.mu.Unlock()
	if !known || !maps.Equal(before, m.Labels) {
		s.changed()
	}
}

func (s *namespaceSink) gone(m *metav1.PartialObjectMetadata) {
	s.mu.Lock()
	delete(s.labels, m.Name)
	s.mu.Unlock()
	s.changed()
}

func (s *namespaceSink) listed(present map[types.NamespacedName]struct{}) {
	s.mu.Lock()
	s.known = true
	maps.DeleteFunc(s.labels, func(name string, _ map[string]string) bool {
		_, exists := present[types.NamespacedName{Name: name}]
		return !exists
	})
	s.mu.Unlock()
	s.changed()
}
