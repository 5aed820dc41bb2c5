package drift

import (
	"maps"
	"slices"
	"strconv"
)

// tree is a set of places in an object. Each entry without entries below it is a place, with all of its content.
type tree map[string]tree

func (t tree) add(path []string) {
	for _, segment := range path {
		below, known := t[segment]
		switch {
		case !known:
			below = tree{}
			t[segment] = below
		case len(below) == 0:
			return
		}
		t = below
	}
	clear(t)
}

// covers reports whether a path is one of the places, or part of one; touches also, whether it holds one.
func (t tree) covers(path []string) (covers, touches bool) {
	for _, segment := range path {
		below, known := t[segment]
		if !known {
			return false, false
		}
		if len(below) == 0 {
			return true, true
		}
		t = below
	}
	return false, true
}

// cut returns a value without the places. It shares the unchanged parts with the value, and does not change it.
func (t tree) cut(v any) any {
	switch x := v.(type) {
	case map[string]any:
		rest := maps.Clone(x)
		for name, below := range t {
			if len(below) == 0 {
				delete(rest, name)
			} else if v, found := x[name]; found {
				rest[name] = below.cut(v)
			}
		}
		return rest
	case []any:
		rest := make([]any, 0, len(x))
		for i, e := range x {
			below, listed := t[strconv.Itoa(i)]
			switch {
			case !listed:
				rest = append(rest, e)
			case len(below) > 0:
				rest = append(rest, below.cut(e))
			}
		}
		return rest
	}
	return v
}

// withoutElements returns object without elements of the list in a field of one of its parts, and without the list if
// none is left. It does not change object.
func withoutElements(object map[string]any, in, field string, gone func(e any) bool) map[string]any {
	part := maps.Clone(mapOf(object[in]))
	list, _ := part[field].([]any)
	left := slices.DeleteFunc(slices.Clone(list), gone)
	if len(left) == len(list) {
		return object
	}
	if part[field] = left; len(left) == 0 {
		delete(part, field)
	}
	object = maps.Clone(object)
	object[in] = part
	return object
}
