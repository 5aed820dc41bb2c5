package drift

import (
	"encoding/json"
	"maps"
	"slices"
)

// scalarEqual compares two values, at least one of them a scalar. Numbers are equal by value.
func scalarEqual(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	}
	x, isInt, ok := number(a)
	if !ok {
		return false
	}
	y, isInt2, ok := number(b)
	if !ok {
		return false
	}
	if isInt && isInt2 {
		return integer(a) == integer(b) // beyond 2^53 float64 would lose digits
	}
	return x == y
}

// number returns v as a float and whether its Go type is an integer one.
func number(v any) (f float64, isInt, ok bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true, true
	case float64:
		return x, false, true
	case int:
		return float64(x), true, true
	case int32:
		return float64(x), true, true
	}
	return 0, false, false
}

func integer(v any) int64 {
	switch x := v.(type) {
	case int64:
		return x
	case int:
		return int64(x)
	case int32:
		return int64(x)
	}
	return 0
}

// deepEqual compares two values exactly, but for the representation of numbers.
func deepEqual(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, deepEqual)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, deepEqual)
	}
	return scalarEqual(a, b)
}

// deepCopy copies maps and lists, so that a target never shares memory with the desired object.
func deepCopy(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[k] = deepCopy(e)
		}
		return m
	case []any:
		l := make([]any, len(x))
		for i, e := range x {
			l[i] = deepCopy(e)
		}
		return l
	}
	return v
}

// sameAsAbsent reports whether a declared value means the same as none, see the package comment on zero values.
func sameAsAbsent(v any, n *node) bool {
	if n == nil || !n.byValue {
		return false
	}
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if n.object == nil || !sameAsAbsent(e, n.object.fields[k]) {
				return false
			}
		}
		return true
	case []any:
		return len(x) == 0
	case string:
		return x == ""
	case bool:
		return !x
	}
	f, _, ok := number(v)
	return ok && f == 0
}

// allMaps reports whether all elements of a list are maps.
func allMaps(list []any) bool {
	return !slices.ContainsFunc(list, func(e any) bool {
		_, ok := e.(map[string]any)
		return !ok
	})
}

// haveUniqueKeys reports whether all elements of a list are maps, and no two of them have the same keys.
func haveUniqueKeys(list []any, keys []mergeKey) bool {
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		key, ok := keyText(e, keys)
		if !ok || seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// keyText returns the keys of an element as text; not ok when it has none.
func keyText(e any, keys []mergeKey) (string, bool) {
	m, ok := e.(map[string]any)
	values := make([]any, len(keys))
	for i := range keys {
		switch values[i] = keys[i].of(m); values[i].(type) {
		case map[string]any, []any:
			return "", false
		}
	}
	text, err := json.Marshal(values)
	return string(text), ok && err == nil
}

// noMaps reports whether all elements of a list are scalars.
func noMaps(list []any) bool {
	return !slices.ContainsFunc(list, func(e any) bool {
		switch e.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	})
}
