package cli

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
)

// fieldUse is the relation of a path of an ignore rule to the objects of a release.
type fieldUse struct {
	// declared is set when an object has a value at the path, possible when the kind of one has such a field.
	declared, possible bool
	// unknown is set when the fields of the kind of an object are not known: those of custom kinds.
	unknown bool
	// near is the path of a similar field of an object; empty for none.
	near string
}

// useOf returns the relation of a JSON pointer to those of the objects that a target selects, to all for nil.
func useOf(pointer string, target *v1alpha1.IgnoreTarget, objects []manifest.Object) (fieldUse, error) {
	rule, err := rules.Compile([]v1alpha1.IgnoreRule{{Paths: []string{pointer}, Target: target}})
	if err != nil {
		return fieldUse{}, err
	}
	use, path := fieldUse{}, drift.Change{Path: pointer}.Segments()
	for i := range objects {
		if rule.For(objects[i]) == nil {
			continue
		}
		use.declared = use.declared || rule.Declared(objects[i]) != nil
		kind, known := scheme.Scheme.AllKnownTypes()[objects[i].GVK]
		if !known {
			use.unknown = true
			continue
		}
		possible, near := hasField(kind, path)
		use.possible = use.possible || possible
		if use.near == "" {
			use.near = near
		}
	}
	return use, nil
}

// hasField reports whether a Go type of an API has a field at a path, and returns the pointer of a similar one
// otherwise.
func hasField(t reflect.Type, path []string) (found bool, near string) {
	for i, segment := range path {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
			return true, "" // its JSON is not that of its fields
		case t.Kind() == reflect.Map || t.Kind() == reflect.Slice:
			t = t.Elem()
			continue
		case t.Kind() != reflect.Struct:
			return false, ""
		case segment == rules.AnySegment:
			return true, ""
		}
		fields := map[string]reflect.Type{}
		addFields(fields, t)
		next, ok := fields[segment]
		if !ok {
			return false, similarField(fields, path, i)
		}
		t = next
	}
	return true, ""
}

// addFields adds the fields of a struct by their names in JSON.
func addFields(fields map[string]reflect.Type, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			addFields(fields, f.Type)
		case f.IsExported() && name != "" && name != "-":
			fields[name] = f.Type
		}
	}
}

// similarField returns the pointer of a path with segment i replaced by a field of a similar name; empty for none.
func similarField(fields map[string]reflect.Type, path []string, i int) string {
	name := inspect.Nearest(path[i], maps.Keys(fields))
	if name == "" {
		return ""
	}
	near := slices.Clone(path)
	near[i] = name
	return drift.Pointer(near...)
}
