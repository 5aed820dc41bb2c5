package drift

import (
	"encoding/json"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownsAny reports whether a managedFields entry owns one of the changed paths. Removed paths count too: whoever put
// something undeclared in the place of a declared value may own the path. An entry that cannot be read owns nothing.
func ownsAny(entry *metav1.ManagedFieldsEntry, desired, live map[string]any, changes []Change) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var fields map[string]any
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil || len(fields) == 0 {
		return false
	}
	for _, change := range changes {
		path := parsePointer(change.Path)
		if change.Op == Added && len(path) > 0 {
			if ownsAdded(fields, path, desired, live) {
				return true
			}
			continue
		}
		if owns(fields, path, desired) {
			return true
		}
	}
	return false
}

// owns walks fields (in the form of FieldsV1) along path, with list indexes of object. A field that is owned as
// a whole, such as an atomic list, owns what is below it.
func owns(fields map[string]any, path []string, object any) bool {
	for _, segment := range path {
		if len(fields) == 0 {
			return true
		}
		_, next, value := step(fields, segment, object)
		if next == nil {
			return false
		}
		fields, object = next, value
	}
	if _, itself := fields["."]; itself || len(fields) == 0 {
		return true
	}
	// Of a list that differs as a whole every element is a part.
	_, isList := object.([]any)
	return isList
}

// ownsAdded is owns for a path whose last segment belongs to the live object, and the rest to the desired one, as far
// as that has it: an addition may be inside of another one.
func ownsAdded(fields map[string]any, path []string, desired, live map[string]any) bool {
	var want, have any = desired, live
	for _, segment := range path[:len(path)-1] {
		if len(fields) == 0 {
			return true
		}
		object := want
		if object == nil {
			object = have
		}
		name, next, value := step(fields, segment, object)
		if next == nil {
			return false
		}
		if want != nil {
			want = value
		}
		fields, have = next, counterpart(have, segment, name)
	}
	return owns(fields, path[len(path)-1:], have)
}

// step goes one segment down in fields and object. It returns the path element as it is named in fields, and nil
// fields where nothing is owned.
func step(fields map[string]any, segment string, object any) (string, map[string]any, any) {
	switch o := object.(type) {
	case map[string]any:
		name := "f:" + segment
		next, _ := fields[name].(map[string]any)
		return name, next, o[segment]
	case []any:
		i, err := strconv.Atoi(segment)
		if err != nil || i < 0 || i >= len(o) {
			return "", nil, nil
		}
		for name, f := range fields {
			if next, ok := f.(map[string]any); ok && names(name, i, o[i]) {
				return name, next, o[i]
			}
		}
	}
	return "", nil, nil
}

// names reports whether a path element of FieldsV1 means list element e at index i. Key fields that the element
// does not have were defaulted by the server.
func names(name string, i int, e any) bool {
	kind, text, ok := strings.Cut(name, ":")
	if !ok {
		return false
	}
	switch kind {
	case "i":
		return text == strconv.Itoa(i)
	case "v":
		var v any
		return json.Unmarshal([]byte(text), &v) == nil && deepEqual(v, e)
	case "k":
		element, ok := e.(map[string]any)
		var keys map[string]any
		if !ok || json.Unmarshal([]byte(text), &keys) != nil {
			return false
		}
		for k, v := range keys {
			have, ok := element[k]
			if ok && !deepEqual(v, have) || !ok && k == "protocol" && v != "TCP" {
				return false
			}
		}
		return true
	}
	return false
}

// counterpart returns the child of a live value that segment leads to, where name is what FieldsV1 calls it.
func counterpart(have any, segment, name string) any {
	switch h := have.(type) {
	case map[string]any:
		return h[segment]
	case []any:
		for j, e := range h {
			if names(name, j, e) {
				return e
			}
		}
	}
	return nil
}
