package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/pager"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Unowned is an object without an owner.
type Unowned struct {
	ID      manifest.ID
	Created time.Time
	// Manager is the field manager with the oldest entry in the object's managedFields; empty for none.
	Manager string
	// Release is the release that the object names in Helm's metadata, as text that anyone may have written; empty for
	// none.
	Release string
}

// Inventory is the result of a search for objects without an owner.
type Inventory struct {
	Unowned []Unowned
	// Objects counts all listed objects.
	Objects int
	// Failures are the kinds that could not be listed, with the name of the resource as the name of the object.
	Failures []Failure
}

const (
	// listPage bounds the objects in one answer, listsAtOnce the kinds that are listed at a time.
	listPage    = 500
	listsAtOnce = 8
)

// Unowned lists the objects of a namespace, or of all when it is empty, that have no owner: none of the releases
// accounts for them, they have no owner reference, and no controller of Kubernetes itself has created them. Only
// metadata is read.
func (c *Cluster) Unowned(
	ctx context.Context, namespace string, ofRelease func(manifest.ID) bool,
) (*Inventory, error) {
	resources, err := listedResources(c)
	if err != nil {
		return nil, err
	}
	s := &search{found: &Inventory{}, seen: map[types.UID]bool{}, ofRelease: ofRelease}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listsAtOnce)
	for _, r := range resources {
		group.Go(func() error {
			list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return c.metadata.Resource(r.gvr).Namespace(namespace).List(ctx, options)
			})
			list.PageSize = listPage
			err := list.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
				s.add(r.kind, o)
				return nil
			})
			if err != nil {
				s.failed(r, err)
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(s.found.Unowned, func(x, y Unowned) int { return x.ID.Compare(y.ID) })
	slices.SortFunc(s.found.Failures, func(x, y Failure) int { return x.ID.Compare(y.ID) })
	return s.found, nil
}

// listedResource is a kind of objects in namespaces.
type listedResource struct {
	gvr  schema.GroupVersionResource
	kind schema.GroupKind
}

// listedResources returns the resources in namespaces that can be listed, each in its group's preferred version. Groups
// whose server does not answer are left out.
func listedResources(c *Cluster) (resources []listedResource, err error) {
	lists, err := discovery.ServerPreferredNamespacedResources(c.Discovery)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("ask for the API resources: %w", err)
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("read the API resources: %w", err)
		}
		for _, r := range list.APIResources {
			if kind := gv.WithKind(r.Kind).GroupKind(); !slices.Contains(uncounted(), kind) {
				resources = append(resources, listedResource{gv.WithResource(r.Name), kind})
			}
		}
	}
	return resources, nil
}

// uncounted returns the kinds of which components of a cluster create objects all the time.
func uncounted() []schema.GroupKind {
	return []schema.GroupKind{
		{Kind: "Event"}, {Group: "events.k8s.io", Kind: "Event"}, {Group: "coordination.k8s.io", Kind: "Lease"},
	}
}

// search is a search for objects without an owner in progress.
type search struct {
	ofRelease func(manifest.ID) bool

	mu    sync.Mutex // guards the rest
	found *Inventory
	seen  map[types.UID]bool // one object may be served as several kinds
}

func (s *search) add(kind schema.GroupKind, object runtime.Object) {
	m, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[m.UID] {
		return
	}
	s.seen[m.UID] = true
	s.found.Objects++
	id := manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: m.Namespace, Name: m.Name}
	manager := oldestManager(m.ManagedFields)
	if len(m.OwnerReferences) > 0 || isOfKubernetes(kind, m, manager) || isRecord(kind, m) || s.ofRelease(id) {
		return
	}
	s.found.Unowned = append(s.found.Unowned, Unowned{ID: id, Created: m.CreationTimestamp.Time, Manager: manager,
		Release: m.Annotations[manifest.ReleaseNameAnnotation]})
}

func (s *search) failed(r listedResource, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.Failures = append(s.found.Failures, Failure{Err: err,
		ID: manifest.ID{Group: r.kind.Group, Kind: r.kind.Kind, Name: r.gvr.Resource}})
}

// oldestManager returns the field manager with the oldest entry: usually the object's creator.
func oldestManager(entries []metav1.ManagedFieldsEntry) (manager string) {
	var oldest *metav1.Time
	for _, entry := range entries {
		if entry.Time != nil && (oldest == nil || entry.Time.Before(oldest)) {
			manager, oldest = entry.Manager, entry.Time
		}
	}
	return manager
}

// isOfKubernetes reports whether a controller of Kubernetes itself has created an object: volume claims of
// StatefulSets, endpoints, root certificates, tokens. Who calls himself such a controller hides his objects.
func isOfKubernetes(kind schema.GroupKind, m *metav1.PartialObjectMetadata, manager string) bool {
	switch {
	case kind == schema.GroupKind{Kind: "ServiceAccount"} &&
		(m.Name == "default" || m.Namespace == metav1.NamespaceSystem && manager == ""):
		return true // those of the controllers have no fields, and so no manager
	case kind == schema.GroupKind{Kind: "Secret"} && m.Annotations[corev1.ServiceAccountNameKey] != "":
		return true
	}
	return slices.Contains([]string{
		"kube-controller-manager", "cloud-controller-manager", "kube-scheduler", "kube-apiserver", "kubelet",
	}, manager)
}

// isRecord reports whether an object is a record of Helm.
func isRecord(kind schema.GroupKind, m *metav1.PartialObjectMetadata) bool {
	stores := kind == schema.GroupKind{Kind: "Secret"} || kind == schema.GroupKind{Kind: "ConfigMap"}
	return stores && m.Labels[release.OwnerLabel] == release.OwnerHelm && strings.HasPrefix(m.Name, release.NamePrefix)
}
