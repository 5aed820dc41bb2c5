package manifest

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// null is the path of keys and indexes to a declared null.
type null []any

// keptNulls returns the nulls of an object that the API server may keep: as null in a custom resource and in untyped
// content, as an empty text in a map of texts (the data of a ConfigMap). A null in a struct field of a built-in kind is
// always the same as none.
func keptNulls(content map[string]any, gvk schema.GroupVersionKind) []null {
	t, known := scheme.Scheme.AllKnownTypes()[gvk]
	w := nullWalk{}
	for key, member := range content {
		switch {
		case key == "metadata":
			w.walk(null{key}, member, reflect.TypeFor[metav1.ObjectMeta]())
		case known:
			w.walk(null{}, map[string]any{key: member}, t)
		default:
			w.walk(null{}, map[string]any{key: member}, nil)
		}
	}
	return w.found
}

type nullWalk struct{ found []null }

// walk visits a value of a Go type; nil for content without one.
func (w *nullWalk) walk(at null, v any, t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && (t.Implements(ownEncoding) || reflect.PointerTo(t).Implements(ownEncoding)) {
		t = nil
	}
	switch x := v.(type) {
	case map[string]any:
		for key, member := range x {
			if of, declares := memberType(t, key); declares {
				w.member(append(at[:len(at):len(at)], key), member, t, of)
			}
		}
	case []any:
		var of reflect.Type
		if t != nil {
			if t.Kind() != reflect.Slice {
				return
			}
			of = t.Elem()
		}
		for i, element := range x {
			w.walk(append(at[:len(at):len(at)], i), element, of)
		}
	}
}

func (w *nullWalk) member(at null, member any, parent, of reflect.Type) {
	if member != nil {
		w.walk(at, member, of)
		return
	}
	if parent == nil || parent.Kind() == reflect.Map && isText(of) {
		w.found = append(w.found, at)
	}
}

var ownEncoding = reflect.TypeFor[json.Marshaler]()

// memberType returns the type of a member of a struct or map type; not ok when there is no such member.
func memberType(t reflect.Type, key string) (of reflect.Type, ok bool) {
	switch {
	case t == nil:
		return nil, true
	case t.Kind() == reflect.Map:
		return t.Elem(), true
	case t.Kind() != reflect.Struct:
		return nil, false
	}
	field, ok := value.TypeReflectEntryOf(t).Fields()[key]
	if !ok {
		return nil, false
	}
	return field.GetFrom(reflect.Zero(t)).Type(), true
}

// isText reports whether a type is text, or bytes, which are written as text.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// restore puts the null into content again where the value around it is still there.
func (n null) restore(content any) {
	for _, segment := range n[:len(n)-1] {
		switch s := segment.(type) {
		case string:
			m, _ := content.(map[string]any)
			content = m[s]
		case int:
			l, _ := content.([]any)
			if s >= len(l) {
				return
			}
			content = l[s]
		}
	}
	if m, ok := content.(map[string]any); ok {
		if key, ok := n[len(n)-1].(string); ok && m[key] == nil {
			m[key] = nil
		}
	}
}
