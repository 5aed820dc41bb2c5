package watch

import (
	"context"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/pkg/release"
)

func newStore(r *Releases, client metadata.Interface, storage release.Storage, log logrus.FieldLogger) *store {
	s := &store{releases: r, storage: storage, client: client.Resource(storage.GVR()), labels: noLabels{}}
	s.feed = newFeed("release "+storage.Kind()+"s", s.listWatch(), &metav1.PartialObjectMetadata{}, s, log)
	return s
}

func (s *store) listWatch() *cache.ListWatch {
	tweak := func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = release.SelectorWithFences(), s.storage.FieldSelector()
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Continue == "" { // not the next part of the same list
				s.listBegins()
			}
			tweak(&o)
			return s.page(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			if o.SendInitialEvents != nil && *o.SendInitialEvents {
				s.listBegins()
			}
			tweak(&o)
			return s.client.Watch(ctx, o)
		},
	}
}

// recordsPage is the number of records in one request, if the API server does not stream them.
const recordsPage = 50

// page lists some records. The Reflector keeps all pages, so each is reduced to the needed metadata. A list at
// resourceVersion 0 has no pages: it is made a consistent one.
func (s *store) page(ctx context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
	}
	o.Limit = recordsPage
	list, err := s.client.List(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		trim(&list.Items[i], s.labels.Of(list.Items[i].Labels))
	}
	return list, nil
}

// listBegins is called before the records are listed.
func (s *store) listBegins() {
	s.releases.fences.listBegins()
	s.labels.ListBegins()
}

// trim removes unused metadata of a record, and keeps the labels in more: the record's writer determines its size.
func trim(m *metav1.PartialObjectMetadata, more map[string]string) {
	kept := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp,
	}
	for _, label := range release.Labels {
		if value, found := m.Labels[label]; found {
			metav1.SetMetaDataLabel(&kept, label, value)
		}
	}
	for label, value := range more {
		metav1.SetMetaDataLabel(&kept, label, value)
	}
	if token, found := m.Annotations[release.FenceAnnotation]; found {
		metav1.SetMetaDataAnnotation(&kept, release.FenceAnnotation, token)
	}
	m.ObjectMeta = kept
}

// The methods of the feed's sink.

func (s *store) observed(m *metav1.PartialObjectMetadata) {
	s.releases.notify(s.releases.put(s, m))
	if isFence(m) {
		s.releases.fences.delivered(m)
	}
}

func (s *store) gone(m *metav1.PartialObjectMetadata) {
	s.releases.notify(s.releases.remove(placeOf(s.storage, m)))
}

func (s *store) listed(present map[types.NamespacedName]struct{}) {
	for _, at := range s.releases.in(s.storage) {
		if _, exists := present[at.NamespacedName]; !exists {
			s.releases.notify(s.releases.remove(at))
		}
	}
	s.releases.fences.listEnded()
	s.labels.ListEnded()
}
