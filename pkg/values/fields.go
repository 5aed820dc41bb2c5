package values

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Field is one field of an object.
type Field struct {
	ID manifest.ID
	// Path has the keys and the indexes on the way to the field.
	Path []string
}

// Name returns the path of a field as other commands print it, "spec.replicas" or "data[color]".
func (f Field) Name() string {
	return drift.Describe([]drift.Change{{Path: drift.Pointer(f.Path...)}}, 1)
}

// Pointer returns the path of a field as an RFC 6901 pointer.
func (f Field) Pointer() string { return drift.Pointer(f.Path...) }

// Change is a field with its value before and after; nil for none.
type Change struct {
	Field
	Before, After any
}

// leaves are the fields of an object without fields of their own, by their pointers. Empty maps and lists are leaves.
type leaves map[string]any

// leavesOf returns the leaves of a value.
func leavesOf(value any) leaves {
	found := leaves{}
	var walk func(value any, at []string)
	walk = func(value any, at []string) {
		switch v := value.(type) {
		case map[string]any:
			for key, member := range v {
				walk(member, append(slices.Clone(at), key))
			}
			if len(v) > 0 {
				return
			}
		case []any:
			for i, element := range v {
				walk(element, append(slices.Clone(at), strconv.Itoa(i)))
			}
			if len(v) > 0 {
				return
			}
		}
		found[drift.Pointer(at...)] = value
	}
	walk(value, nil)
	return found
}

// difference returns the different fields of two manifests.
func difference(before, after *rendering) []Change {
	var changes []Change
	for _, o := range before.objects {
		other, _ := after.find(o.ID)
		changes = append(changes, differenceOf(o.ID, o.Content, other.Content)...)
	}
	for _, o := range after.objects {
		if _, found := before.find(o.ID); !found {
			changes = append(changes, differenceOf(o.ID, nil, o.Content)...)
		}
	}
	return changes
}

// differenceOf returns the different fields of two versions of an object. A missing version (nil) is one change.
func differenceOf(id manifest.ID, before, after map[string]any) []Change {
	if before == nil || after == nil {
		return []Change{{Field: Field{ID: id}, Before: asAny(before), After: asAny(after)}}
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	was, is := leavesOf(before), leavesOf(after)
	var changes []Change
	for pointer, value := range was {
		if now, found := is[pointer]; !found || !reflect.DeepEqual(value, now) {
			changes = append(changes, Change{Field{id, segments(pointer)}, value, now})
		}
	}
	for pointer, value := range is {
		if _, found := was[pointer]; !found {
			changes = append(changes, Change{Field: Field{id, segments(pointer)}, After: value})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return slices.Compare(a.Path, b.Path) })
	return changes
}

func asAny(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func segments(pointer string) []string { return drift.Change{Path: pointer}.Segments() }

// Get returns the value at a path of maps and lists.
func Get(value any, path []string) (any, bool) {
	for _, segment := range path {
		switch v := value.(type) {
		case map[string]any:
			member, found := v[segment]
			if !found {
				return nil, false
			}
			value = member
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// put sets the value at a path of maps and lists, and makes missing maps. It returns false if another value is in the
// way.
func put(root map[string]any, path []string, value any) bool {
	var at any = root
	for i, segment := range path {
		last := i == len(path)-1
		switch v := at.(type) {
		case map[string]any:
			if last {
				v[segment] = value
				return true
			}
			if v[segment] == nil {
				v[segment] = map[string]any{}
			}
			at = v[segment]
		case []any:
			n, err := strconv.Atoi(segment)
			if err != nil || n < 0 || n >= len(v) {
				return false
			}
			if last {
				v[n] = value
				return true
			}
			at = v[n]
		default:
			return false
		}
	}
	return false
}

// text returns a scalar as a template prints it; false for maps, lists and nothing.
func text(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case nil, map[string]any, []any:
		return "", false
	}
	return fmt.Sprint(value), true
}

// integers returns a value with whole numbers as such: JSON has them as fractions, and large ones print otherwise then.
func integers(value any) any {
	switch v := value.(type) {
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, member := range v {
			m[key] = integers(member)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, element := range v {
			l[i] = integers(element)
		}
		return l
	}
	return value
}

// same reports whether two values are the same JSON.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// below reports whether a path is prefix, or leads on from it.
func below(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// ParsePath returns the segments of a path in an object: a pointer (/spec/replicas), or keys with dots, and brackets
// for indexes, names of list elements, and keys with dots inside (spec.containers[web].image, data[color]).
func ParsePath(path string) ([]string, error) {
	if strings.HasPrefix(path, "/") {
		return segments(path), nil
	}
	var found []string
	for rest := path; rest != ""; {
		var segment string
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			end := strings.Index(inner, "]")
			if end < 0 {
				return nil, fmt.Errorf("the path %q has a bracket that is not closed", path)
			}
			segment, rest = inner[:end], strings.TrimPrefix(inner[end+1:], ".")
			segment = strings.Trim(strings.TrimPrefix(segment, "name="), `"'`)
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			segment, rest = rest[:end], strings.TrimPrefix(rest[end:], ".")
		}
		if segment == "" {
			return nil, fmt.Errorf("the path %q has an empty part", path)
		}
		found = append(found, segment)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the path is empty")
	}
	return found, nil
}

// Resolve replaces names of list elements in a path by their indexes.
func Resolve(content any, path []string) []string {
	resolved := slices.Clone(path)
	at := content
	for i, segment := range path {
		if list, ok := at.([]any); ok {
			if n := slices.IndexFunc(list, func(element any) bool {
				m, _ := element.(map[string]any)
				return m["name"] == segment
			}); n >= 0 {
				resolved[i] = strconv.Itoa(n)
			}
		}
		at, _ = Get(at, resolved[i:i+1])
	}
	return resolved
}
