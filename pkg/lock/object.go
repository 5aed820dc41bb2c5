package lock

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
)

// Kind is what the objects of one kind have in common. There are many objects and few kinds, so objects share it:
// it does not change.
type Kind struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Namespaced bool
	// Schema says how lists and maps of the kind are compared.
	Schema drift.Schema
}

// Object is one object of a locked release as Helm left it. It does not change while it is locked.
type Object struct {
	ID manifest.ID
	*Kind
	// Desired is the desired state. It is kept as packed JSON: a decoded map takes many times the memory.
	Desired Packed
	// Keep is set for objects with helm.sh/resource-policy: keep.
	Keep bool
	// Scalable is set when the manifest declares a number of replicas.
	Scalable bool
	// Replicas is the range within which an autoscaler of the same release may set the replica count; nil for none.
	Replicas *judge.Range
	// Rules are the ignore rules that the object is a target of; nil for none.
	Rules *rules.Matcher
	// Account is the user in whose name the object is written; empty for the operator itself.
	Account string
}

// Kinds has objects share what they have in common. It is safe for concurrent use; the zero value is empty.
type Kinds struct {
	mu    sync.Mutex
	known map[schema.GroupVersionKind]*Kind // the newest of each
}

// Share returns a Kind like k that all objects share for which the same was said since their kind last changed.
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

// Of returns the group and kind of the objects of a resource that were locked; false when none were. It is not asked of
// what is discovered, which is forgotten and discovered again while the objects stay locked.
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

// Observation is what was seen of a live object.
type Observation struct {
	// Live is the object as the API server returned it; nil when it does not exist or is not known.
	Live *unstructured.Unstructured
	// Last is, for a deleted object, its last known state, if the watch delivered one.
	Last *unstructured.Unstructured
	// Large is set for an object of which many must not be in memory at a time: Live is then not kept beyond the
	// work on it.
	Large bool
	// NeedsGet is set when it is not known whether the object exists: ask the API server before judging.
	NeedsGet bool
	// ReportedGone is set when a watch reported that the object is gone: deleted, or without Helm's label.
	ReportedGone bool
	// Version is the resource version of the look; zero when unknown.
	Version uint64
	// Digest is the content digest of Live.
	Digest uint64
	// Seen is when the look was taken, or for a repeated look the first one that was not good.
	Seen time.Time
}

// Essence returns what is needed of the last known state of an object that is gone: who wrote it, and whether it
// had finished. Nil for nil.
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

// kept returns what is kept of an observation for later: of a large object that it has to be read again.
func (o *Observation) kept() *Observation {
	if !o.Large || o.Live == nil {
		return o
	}
	return &Observation{Large: true, NeedsGet: true, Last: o.Last, Seen: o.Seen}
}
