package drift

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// Schema defines the comparison of the fields of one kind. It is immutable and cheap to copy. The zero value treats
// every list as atomic.
//
// For the built-in kinds and CustomResourceDefinitions it follows the Go types: patchStrategy and patchMergeKey make a
// list a merged one, with two corrections. If the strategic merge key is not unique (ports with TCP and UDP), the key
// is the one of server-side apply, with its defaults. And the order of the declared elements matters in containers,
// initContainers and env. Schemas.ForDefinition follows the definition of a custom kind. For every other kind only the
// common metadata is known, and lists are atomic.
type Schema struct {
	root *node
	// complete is set when every list of the kind is described; otherwise the API server may merge the others.
	complete bool
	// replicas points to the field set by the subresource scale of a custom kind; empty when unknown.
	replicas string
}

// IsKnown reports whether the schema is that of the kind. Of any other kind only the metadata is known.
func (s Schema) IsKnown() bool { return s.complete }

// Replicas returns the path of the field set by the subresource scale: the one in the definition of a custom kind, and
// spec.replicas otherwise.
func (s Schema) Replicas() []string {
	if s.replicas == "" {
		return []string{"spec", "replicas"}
	}
	return parsePointer(s.replicas)
}

// Schemas compiles schemas and caches them. It is safe for concurrent use.
type Schemas struct {
	scheme *runtime.Scheme

	mu    sync.Mutex
	types map[reflect.Type]*object           // guarded by mu
	kinds map[schema.GroupVersionKind]Schema // guarded by mu
	other Schema
}

// NewSchemas returns a registry with the kinds of client-go and CustomResourceDefinitions. It fails only if those kinds
// cannot be registered.
func NewSchemas() (*Schemas, error) {
	s := &Schemas{
		scheme: runtime.NewScheme(),
		types:  map[reflect.Type]*object{},
		kinds:  map[schema.GroupVersionKind]Schema{},
	}
	if err := clientscheme.AddToScheme(s.scheme); err != nil {
		return nil, fmt.Errorf("register the built-in kinds: %w", err)
	}
	if err := apiextensionsv1.AddToScheme(s.scheme); err != nil {
		return nil, fmt.Errorf("register custom resource definitions: %w", err)
	}
	s.other = Schema{root: &node{object: s.compileStruct(reflect.TypeFor[metav1.PartialObjectMetadata]())}}
	return s, nil
}

// Knows reports whether For returns more than the common metadata for a kind. ForDefinition is for the other kinds.
func (s *Schemas) Knows(gvk schema.GroupVersionKind) bool { return s.scheme.Recognizes(gvk) }

// For returns the schema of a kind. The first call for a kind compiles it; later ones use the cache.
func (s *Schemas) For(gvk schema.GroupVersionKind) Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.kinds[gvk]; ok {
		return known
	}
	t, ok := s.scheme.AllKnownTypes()[gvk]
	if !ok {
		return s.other // not kept: the number of custom kinds has no bound
	}
	compiled := Schema{root: &node{object: s.compileStruct(t)}, complete: true}
	s.kinds[gvk] = compiled
	return compiled
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// compileStruct returns the description of a struct type; s.mu is held (or s not yet shared).
func (s *Schemas) compileStruct(t reflect.Type) *object {
	if known, ok := s.types[t]; ok {
		return known
	}
	o := &object{fields: map[string]*node{}}
	s.types[t] = o // before its fields, for types that contain themselves
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && name == "" || strings.Contains(options, "inline") {
			if inlined := indirect(f.Type); inlined.Kind() == reflect.Struct {
				embedded := s.compileStruct(inlined)
				maps.Copy(o.fields, embedded.fields)
				o.unions = append(o.unions, embedded.unions...)
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		o.fields[name] = s.compileField(t, f, name)
	}
	o.unions = append(o.unions, unionsOf(t, o.fields)...)
	o.defaults = exactDefaultsOf(t)
	return o
}

func (s *Schemas) compileField(owner reflect.Type, f reflect.StructField, name string) *node {
	n := s.compileType(f.Type)
	n.whole = n.whole || isWholeField(owner, name)
	n.oneWriter = n.oneWriter || isSelectorField(owner, name)
	n.byValue = f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Interface
	n.exact = n.exact || isExactField(owner, f.Type, name)
	n.merged = isMergedByApply(owner, name)
	if f.Type.Kind() != reflect.Slice || !strings.Contains(f.Tag.Get("patchStrategy"), "merge") {
		return n
	}
	key := f.Tag.Get("patchMergeKey")
	if key == "" {
		n.list = setList
		return n
	}
	n.list = keyedList
	n.keys = []mergeKey{{field: key, byValue: true}}
	refineList(owner, name, n)
	return n
}

func (s *Schemas) compileType(t reflect.Type) *node {
	t = indirect(t)
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return &node{} // its JSON does not follow its Go fields: times, quantities, raw JSON
	}
	switch t.Kind() {
	case reflect.Struct:
		return &node{
			object: s.compileStruct(t), exact: isExactType(t), whole: isWholeType(t),
			oneWriter: t == reflect.TypeFor[metav1.LabelSelector](),
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return &node{elem: s.compileType(t.Elem())}
		}
	case reflect.Map:
		return &node{elem: s.compileType(t.Elem())}
	}
	return &node{}
}
