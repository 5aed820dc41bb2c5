package drift

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// scalarEqual compares two values, at least one of them a scalar. Numbers are equal by value.
func scalarEqual(a, b any) bool {
	switch x := a.(type) {
	case int64: // two of them as such: beyond 2^53 float64 would lose digits
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
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

// deepCopy copies a value, so that a target never shares memory with the desired object.
func deepCopy(v any) any { return runtime.DeepCopyJSONValue(v) }

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
	return scalarEqual(v, int64(0))
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

func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// equalButNulls reports whether a declared value is equal to a live one, which lacks the declared nulls.
func equalButNulls(want, have any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		fields := 0
		for key, v := range w {
			if v == nil && h[key] == nil {
				continue
			}
			if fields++; !equalButNulls(v, h[key]) {
				return false
			}
		}
		return ok && fields == len(h)
	case []any:
		h, ok := have.([]any)
		return ok && slices.EqualFunc(w, h, equalButNulls)
	}
	return deepEqual(want, have)
}
