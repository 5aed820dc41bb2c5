package manifest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// dropNulls moves the declared nulls from Content to Blank. A null that the API server may keep stays in Content, too:
// in a custom resource and in untyped content as null, in a map of texts (the data of a ConfigMap) as an empty text. A
// null in a struct field of a built-in kind is always the same as none.
//
// Most objects have no null. Walking all of them along the Go types would take 5 % of the time of a lock.
func (o *Object) dropNulls() {
	if !DeclaresNull(o.Content) {
		return
	}
	inMetadata := takeNulls(o.Content["metadata"], reflect.TypeFor[metav1.ObjectMeta]())
	o.Blank = takeNulls(o.Content, scheme.Scheme.AllKnownTypes()[o.GVK])
	if inMetadata != nil {
		o.set(inMetadata, "metadata")
	}
}

// DeclaresNull reports whether a value has a null at any depth.
func DeclaresNull(v any) bool {
	switch x := v.(type) {
	case map[string]any:
		for _, member := range x {
			if member == nil || DeclaresNull(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, func(e any) bool { return e == nil || DeclaresNull(e) })
	}
	return false
}

// noType is the type of content that the API server ignores, because the type around it has no place for it.
var noType = reflect.TypeFor[struct{}]()

// takeNulls removes the ignored nulls from a value of a Go type, nil for content without one. It returns all nulls in
// mappings as a tree of keys and indexes; nil for none. In a list a null counts as an element, and stays.
func takeNulls(v any, t reflect.Type) (blank map[string]any) {
	found := func(key string, below any) {
		if blank == nil {
			blank = map[string]any{}
		}
		blank[key] = below
	}
	t = typeOfContent(t)
	switch x := v.(type) {
	case map[string]any:
		for key, member := range x {
			of := memberType(t, key)
			if below := takeNulls(member, of); below != nil {
				found(key, below)
			}
			if member != nil {
				continue
			}
			found(key, nil)
			if t != nil && (t.Kind() != reflect.Map || !isText(of)) {
				delete(x, key)
			}
		}
	case []any:
		of := noType
		switch {
		case t == nil:
			of = nil
		case t.Kind() == reflect.Slice:
			of = t.Elem()
		}
		for i, element := range x {
			if below := takeNulls(element, of); below != nil {
				found(strconv.Itoa(i), below)
			}
		}
	}
	return blank
}

var ownEncoding = reflect.TypeFor[json.Marshaler]()

// typeOfContent returns the type behind a pointer; nil for one with JSON that does not follow its Go fields.
func typeOfContent(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && (t.Implements(ownEncoding) || reflect.PointerTo(t).Implements(ownEncoding)) {
		return nil
	}
	return t
}

// memberType returns the type of a member of a struct or map type; noType when there is no such member.
func memberType(t reflect.Type, key string) reflect.Type {
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Map:
		return t.Elem()
	case t.Kind() != reflect.Struct:
		return noType
	}
	if field, ok := value.TypeReflectEntryOf(t).Fields()[key]; ok {
		return field.GetFrom(reflect.Zero(t)).Type()
	}
	return noType
}

// isText reports whether a type is text, or bytes, which are written as text.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// Leave records that a field is left to others. A null of it is no part of Blank any more. Any other value that the
// manifest declares, nil for none, is only sent when the object is created.
func (o *Object) Leave(declared any, path ...string) {
	if declared == nil {
		unset(o.Blank, path)
		return
	}
	o.set(declared, path...)
}

func unset(tree map[string]any, path []string) {
	for _, key := range path[:len(path)-1] {
		tree, _ = tree[key].(map[string]any)
	}
	delete(tree, path[len(path)-1])
}

func (o *Object) set(value any, path ...string) {
	if o.Blank == nil {
		o.Blank = map[string]any{}
	}
	at := o.Blank
	for _, key := range path[:len(path)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	at[path[len(path)-1]] = value
}
