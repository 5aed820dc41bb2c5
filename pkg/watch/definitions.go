package watch

import (
	"context"
	"sync"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// DefinitionsGVR is the resource of CustomResourceDefinitions.
var DefinitionsGVR = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// Definitions reports, by a metadata-only watch, possible changes of the served kinds.
type Definitions struct {
	feed    *feed[*metav1.PartialObjectMetadata]
	changed func(*metav1.PartialObjectMetadata)

	mu    sync.Mutex
	names map[string]struct{} // of those that exist
}

// NewDefinitions returns a watch. It calls changed, from one goroutine, with the metadata of each created, changed
// (established, for example) or deleted CustomResourceDefinition. changed must only enqueue.
func NewDefinitions(
	client metadata.Interface, log logrus.FieldLogger, changed func(*metav1.PartialObjectMetadata),
) *Definitions {
	d := &Definitions{changed: changed, names: map[string]struct{}{}}
	d.feed = newFeed("CustomResourceDefinitions", listWatch(client.Resource(DefinitionsGVR)),
		&metav1.PartialObjectMetadata{}, (*definitionSink)(d), log)
	return d
}

// Run watches until ctx ends.
func (d *Definitions) Run(ctx context.Context) { d.feed.run(ctx) }

// has reports whether the watch has delivered the definition of a name.
func (d *Definitions) has(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, exists := d.names[name]
	return exists
}

// synced reports whether the watch has delivered all definitions that existed at its start.
func (d *Definitions) synced() bool {
	select {
	case <-d.feed.synced:
		return true
	default:
		return false
	}
}

// definitionSink takes the events of the feed.
type definitionSink Definitions

func (s *definitionSink) observed(m *metav1.PartialObjectMetadata) {
	s.mu.Lock()
	s.names[m.Name] = struct{}{}
	s.mu.Unlock()
	s.changed(m)
}

func (s *definitionSink) gone(m *metav1.PartialObjectMetadata) {
	s.mu.Lock()
	delete(s.names, m.Name)
	s.mu.Unlock()
	s.changed(m)
}

func (s *definitionSink) listed(present map[types.NamespacedName]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.names {
		if _, exists := present[types.NamespacedName{Name: name}]; !exists {
			delete(s.names, name)
		}
	}
}
