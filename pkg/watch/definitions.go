package watch

import (
	"context"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

var definitionsGVR = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// Definitions tells, by a metadata-only watch, when the kinds that the API server serves may have changed.
type Definitions struct {
	feed *feed[*metav1.PartialObjectMetadata]
}

// NewDefinitions returns a watch that calls changed, from one goroutine, whenever a CustomResourceDefinition came,
// changed (was established, for example) or went, with its metadata. changed must only enqueue.
func NewDefinitions(
	client metadata.Interface, log logrus.FieldLogger, changed func(*metav1.PartialObjectMetadata),
) *Definitions {
	crds := client.Resource(definitionsGVR)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return crds.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return crds.Watch(ctx, o)
		},
	}
	return &Definitions{feed: newFeed("CustomResourceDefinitions", lw, &metav1.PartialObjectMetadata{},
		signal(changed), log)}
}

// Run watches until ctx ends.
func (d *Definitions) Run(ctx context.Context) { d.feed.run(ctx) }

// signal is a sink for which every event is the same.
type signal func(*metav1.PartialObjectMetadata)

func (s signal) observed(m *metav1.PartialObjectMetadata) { s(m) }
func (s signal) gone(m *metav1.PartialObjectMetadata)     { s(m) }
func (s signal) listed(map[types.NamespacedName]struct{}) {}
