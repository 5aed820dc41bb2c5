package lock

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
)

// Kind holds the common properties of the objects of one kind. Many objects share few kinds, so it is immutable.
type Kind struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Namespaced bool
	// Schema defines the comparison of the lists and maps of the kind.
	Schema drift.Schema
}

// Object is one object of a locked release as Helm left it. It does not change while it is locked.
type Object struct {
	ID manifest.ID
	*Kind
	// Desired is the desired state. It is kept as packed JSON: a decoded map takes many times the memory.
	Desired Packed
	// Blank is what Helm sends beside Desired, see manifest.Object; empty for nothing.
	Blank Packed
	// Keep is set for objects with helm.sh/resource-policy: keep.
	Keep bool
	// Scalable is set when the manifest declares a number of replicas.
	Scalable bool
	// Replicas is the range within which an autoscaler of the same release may set the replica count; nil for none.
	Replicas *judge.Range
	// Rules are the ignore rules for the object; nil for none.
	Rules *rules.Matcher
	// Account is the user to impersonate for writes; empty for the operator itself.
	Account string
}

// Declared returns the desired state, and what Helm sends beside it; nil for nothing.
func (o *Object) Declared() (desired, blank map[string]any, err error) {
	if desired, err = o.Desired.Decode(); err == nil {
		blank, err = o.Blank.Decode()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the desired state: %w", err)
	}
	return desired, blank, nil
}

// Kinds shares the Kind values among objects. It is safe for concurrent use; the zero value is empty.
type Kinds struct {
	mu    sync.Mutex
	known map[schema.GroupVersionKind]*Kind // the newest of each
}

// Share returns the shared Kind with the content of k. A Kind with new content replaces the shared one of its GVK.
func (s *Kinds) Share(k Kind) *Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known[k.GVK]; known != nil && *known == k {
		return known
	}
	if s.known == nil {
		s.known = map[schema.GroupVersionKind]*Kind{}
	}
	s.known[k.GVK] = &k
	return &k
}

// Of returns the group and kind for a resource with locked objects; false without any. It does not use discovery, which
// is invalidated and repeated while the objects stay locked.
func (s *Kinds) Of(gvr schema.GroupVersionResource) (schema.GroupKind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for gvk, kind := range s.known {
		if kind.GVR == gvr {
			return gvk.GroupKind(), true
		}
	}
	return schema.GroupKind{}, false
}

// Observation describes a live object at one moment.
type Observation struct {
	// Live is the object as the API server returned it; nil when it does not exist or is not known.
	Live *unstructured.Unstructured
	// Last is, for a deleted object, its last known state, if the watch delivered one.
	Last *unstructured.Unstructured
	// Large is set for a large object. Few of these may be in memory at a time, so Live is dropped after the work on
	// it.
	Large bool
	// NeedsGet is set when the existence of the object is unknown: get it before judging.
	NeedsGet bool
	// ReportedGone is set when a watch reported that the object is gone: deleted, or without Helm's label.
	ReportedGone bool
	// Version is the resource version of the observation; zero when unknown.
	Version uint64
	// Digest is the content digest of Live.
	Digest uint64
	// Seen is the time of the observation. For a repeated one it is the time of the first with drift.
	Seen time.Time
}

// Essence reduces the last known state of a deleted object to its writers and its status. It returns nil for nil.
func Essence(last *unstructured.Unstructured) *unstructured.Unstructured {
	if last == nil {
		return nil
	}
	kept := &unstructured.Unstructured{Object: map[string]any{}}
	for _, field := range []string{"apiVersion", "kind", "status"} {
		if value, found := last.Object[field]; found {
			kept.Object[field] = value
		}
	}
	kept.SetNamespace(last.GetNamespace())
	kept.SetName(last.GetName())
	kept.SetUID(last.GetUID())
	kept.SetResourceVersion(last.GetResourceVersion())
	kept.SetManagedFields(last.GetManagedFields())
	return kept
}

// kept returns the part of an observation to keep for later. A large object must be read again.
func (o *Observation) kept() *Observation {
	if !o.Large || o.Live == nil {
		return o
	}
	return &Observation{Large: true, NeedsGet: true, Last: o.Last, Seen: o.Seen}
}
