package load

import (
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/watch"
)

// definitions cache the compiled CustomResourceDefinitions of locked kinds. It is safe for concurrent use.
type definitions struct {
	mu       sync.Mutex
	seen     map[string]metav1.Object // the newest metadata from the watch, by name
	compiled map[string]specVersion   // of the definitions of the schemas, by name
	schemas  map[schema.GroupVersionKind]drift.Schema
	changes  int // how many times a spec has become another one
}

// specVersion identifies one spec of a definition among all definitions of its name.
type specVersion struct {
	uid        types.UID
	generation int64
}

func specVersionOf(crd metav1.Object) specVersion {
	return specVersion{crd.GetUID(), crd.GetGeneration()}
}

// changed records a definition and reports whether its spec has changed.
func (d *definitions) changed(crd *metav1.PartialObjectMetadata) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := specVersionOf(crd)
	before, known := d.compiled[crd.Name] // it may have been read before the watch had it
	if seen := d.seen[crd.Name]; seen != nil {
		before, known = specVersionOf(seen), true
	}
	if d.seen == nil {
		d.seen = map[string]metav1.Object{}
	}
	d.seen[crd.Name] = crd
	if !known || before == now {
		return false
	}
	_, group, _ := strings.Cut(crd.Name, ".")
	for gvk := range d.schemas {
		if gvk.Group == group {
			delete(d.schemas, gvk)
		}
	}
	d.changes++
	return true
}

// changesSoFar returns the number of changed specs of definitions so far.
func (d *definitions) changesSoFar() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes
}

// put stores a compiled definition, unless the watch has delivered another spec: the entries dropped by changed must
// not return. A definition changed since its read has to be read again, and this counts as a change. If the watch is
// behind, its next event counts as one.
func (d *definitions) put(gvk schema.GroupVersionKind, crd metav1.Object, s drift.Schema) {
	d.mu.Lock()
	defer d.mu.Unlock()
	read := specVersionOf(crd)
	if seen := d.seen[crd.GetName()]; seen != nil && specVersionOf(seen) != read {
		if watch.Version(crd) < watch.Version(seen) {
			d.changes++
		}
		return
	}
	if d.schemas == nil {
		d.schemas, d.compiled = map[schema.GroupVersionKind]drift.Schema{}, map[string]specVersion{}
	}
	d.schemas[gvk], d.compiled[crd.GetName()] = s, read
}

func (d *definitions) get(gvk schema.GroupVersionKind) (drift.Schema, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.schemas[gvk]
	return s, ok
}
