package policies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var namespacesGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// namespaces follows the labels of namespaces, by a metadata-only watch, while they are needed. One goroutine calls its
// methods.
type namespaces struct {
	client metadata.Interface
	log    logrus.FieldLogger
	// changed is called when labels change, become known for the first time, or cannot be read. It must only enqueue.
	changed func()

	informer cache.SharedIndexInformer // nil while it is not needed
	stop     context.CancelFunc
	running  sync.WaitGroup
	failure  atomic.Pointer[error] // of the last attempt to read them
}

// labels returns the labels of all namespaces, by name; the labels must not be changed. It starts to follow them,
// until drop is called or ctx ends. known is false until they are read for the first time; err is the error of that
// read.
func (n *namespaces) labels(ctx context.Context) (of map[string]map[string]string, known bool, err error) {
	if n.informer == nil {
		if err := n.begin(ctx); err != nil {
			return nil, false, err
		}
	}
	if !n.informer.HasSynced() {
		if failure := n.failure.Load(); failure != nil {
			return nil, false, *failure
		}
		return nil, false, nil
	}
	of = map[string]map[string]string{}
	for _, o := range n.informer.GetStore().List() {
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			of[m.Name] = m.Labels
		}
	}
	return of, true, nil
}

// begin starts the watch.
func (n *namespaces) begin(ctx context.Context) error {
	informer := metadatainformer.NewFilteredMetadataInformer(n.client, namespacesGVR, metav1.NamespaceAll, 0,
		cache.Indexers{}, nil).Informer()
	if err := informer.SetTransform(onlyLabels); err != nil {
		return fmt.Errorf("watch of namespaces: %w", err)
	}
	if err := informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { n.failed(err) }); err != nil {
		return fmt.Errorf("watch of namespaces: %w", err)
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { n.changed() },
		UpdateFunc: n.updated,
		DeleteFunc: func(any) { n.changed() },
	})
	if err != nil {
		return fmt.Errorf("watch of namespaces: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	n.informer, n.stop = informer, stop
	n.running.Go(func() { informer.RunWithContext(ctx) })
	n.running.Go(func() { // a handler may be called before the informer counts as synced
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			n.changed()
		}
	})
	return nil
}

// onlyLabels reduces the metadata of a namespace to its name and labels.
func onlyLabels(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	small := &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta}
	small.Name, small.UID, small.ResourceVersion, small.Labels = m.Name, m.UID, m.ResourceVersion, m.Labels
	return small, nil
}

func (n *namespaces) updated(before, after any) {
	b, _ := before.(*metav1.PartialObjectMetadata)
	a, _ := after.(*metav1.PartialObjectMetadata)
	if b == nil || a == nil || !maps.Equal(b.Labels, a.Labels) {
		n.changed()
	}
}

// failed records an error of the watch, and logs it. The end of a watch is none.
func (n *namespaces) failed(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, io.EOF) ||
		errors.Is(err, context.Canceled) {
		return
	}
	n.log.Warnf("watch of Namespaces: %v; trying again", err)
	if before := n.failure.Swap(&err); before == nil || (*before).Error() != err.Error() {
		n.changed()
	}
}

// drop ends the watch.
func (n *namespaces) drop() {
	if n.informer != nil {
		n.stop()
		n.informer = nil
		n.failure.Store(nil)
	}
}

// wait returns when the watch has ended.
func (n *namespaces) wait() { n.running.Wait() }
