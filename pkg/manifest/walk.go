package manifest

import (
	"encoding/base64"
	"maps"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// form is what a walk found out about a declared value.
type form int

const (
	// unsure means that only decoding the whole object tells: the value may not fit its type, or the type may fill
	// it in.
	unsure form = iota
	same
	changed
)

// walk returns the canonical form of a value that is declared where its type is that of zero. Most values cannot
// change on the way into their Go type and back, and are neither encoded nor copied here; those that may are
// decoded by themselves.
//
// It is sure only where the type tells it all. What types must not have for that (fields of one name, encoding of
// keys, ...) is what TestTypesHaveNothingThatTheWalkDoesNotKnow looks for.
func walk(declared any, zero reflect.Value, entry *value.TypeReflectCacheEntry, depth int) (any, form) {
	for zero.Kind() == reflect.Pointer {
		elem := zero.Type().Elem()
		zero, entry = reflect.Zero(elem), value.TypeReflectEntryOf(elem)
	}
	if zero.Type() == reflect.TypeFor[intstr.IntOrString]() {
		return walkIntOrText(declared)
	}
	if entry.CanConvertToUnstructured() || entry.CanConvertFromUnstructured() {
		return decodeLeaf(declared, zero.Type(), entry, depth)
	}
	switch d := declared.(type) {
	case string:
		return walkText(d, zero)
	case bool:
		return d, sureIf(zero.Kind() == reflect.Bool)
	case int64:
		return d, sureIf(zero.CanInt() && !zero.OverflowInt(d) ||
			zero.CanUint() && d >= 0 && !zero.OverflowUint(uint64(d)))
	case map[string]any:
		switch {
		case d == nil || depth > maxDepth:
			return nil, unsure // null is what the first one is written as
		case zero.Kind() == reflect.Struct:
			return walkStruct(d, zero, entry, depth)
		case zero.Kind() == reflect.Map && zero.Type().Key().Kind() == reflect.String:
			return walkMap(d, zero.Type().Elem(), depth)
		}
	case []any:
		if d != nil && depth <= maxDepth && zero.Kind() == reflect.Slice && zero.Type().Elem().Kind() != reflect.Uint8 {
			return walkList(d, zero.Type().Elem(), depth)
		}
	}
	return nil, unsure // null, and fractions too
}

func sureIf(fits bool) form {
	if fits {
		return same
	}
	return unsure
}

// walkText is walk for text. That is base64 where the type has bytes.
func walkText(declared string, zero reflect.Value) (any, form) {
	switch {
	case zero.Kind() == reflect.String:
		return declared, sureIf(utf8.ValidString(declared))
	case zero.Kind() == reflect.Slice && zero.Type().Elem().Kind() == reflect.Uint8 && utf8.ValidString(declared):
		data, err := base64.StdEncoding.DecodeString(declared)
		// No bytes at all may be left out, and stay as declared then.
		if err != nil || len(data) == 0 && declared != "" {
			return nil, unsure
		}
		if written := base64.StdEncoding.EncodeToString(data); written != declared {
			return written, changed
		}
		return declared, same
	}
	return nil, unsure
}

// walkIntOrText is walk for ports and the like. They have an encoding of their own, the most common one, which
// leaves them as they are.
func walkIntOrText(declared any) (any, form) {
	switch d := declared.(type) {
	case string:
		return d, sureIf(utf8.ValidString(d))
	case int64:
		return d, sureIf(d >= math.MinInt32 && d <= math.MaxInt32)
	}
	return nil, unsure
}

func walkStruct(
	declared map[string]any, zero reflect.Value, entry *value.TypeReflectCacheEntry, depth int,
) (any, form) {
	fields := entry.Fields()
	return walkMembers(declared, func(key string, member any) (any, form) {
		if field, known := fields[key]; known {
			return walk(member, field.GetFrom(zero), field.TypeEntry, depth+1)
		}
		return member, sureIf(encodes(member, depth+1))
	})
}

func walkMap(declared map[string]any, t reflect.Type, depth int) (any, form) {
	zero, entry := reflect.Zero(t), value.TypeReflectEntryOf(t)
	return walkMembers(declared, func(key string, member any) (any, form) {
		if !utf8.ValidString(key) {
			return nil, unsure
		}
		return walk(member, zero, entry, depth+1)
	})
}

// walkMembers returns a map with the canonical forms that of finds of its members: itself, or a copy once something
// changes.
func walkMembers(declared map[string]any, of func(key string, member any) (any, form)) (any, form) {
	var written map[string]any
	for key, member := range declared {
		canonical, form := of(key, member)
		switch form {
		case unsure:
			return nil, unsure
		case changed:
			if written == nil {
				written = maps.Clone(declared)
			}
			written[key] = canonical
		}
	}
	if written == nil {
		return declared, same
	}
	return written, changed
}

func walkList(declared []any, t reflect.Type, depth int) (any, form) {
	var written []any
	zero, entry := reflect.Zero(t), value.TypeReflectEntryOf(t)
	for i, element := range declared {
		canonical, form := walk(element, zero, entry, depth+1)
		switch form {
		case unsure:
			return nil, unsure
		case changed:
			if written == nil {
				written = slices.Clone(declared)
			}
			written[i] = canonical
		}
	}
	if written == nil {
		return declared, same
	}
	return written, changed
}

// decodeLeaf is walk for a type with an encoding of its own, such as a quantity.
func decodeLeaf(declared any, t reflect.Type, entry *value.TypeReflectCacheEntry, depth int) (any, form) {
	if declared == nil || t.Kind() != reflect.Struct || !entry.CanConvertToUnstructured() || !encodes(declared, depth) {
		return nil, unsure
	}
	data, err := json.Marshal(declared)
	if err != nil {
		return nil, unsure
	}
	decoded := reflect.New(t)
	if err := json.Unmarshal(data, decoded.Interface()); err != nil {
		return nil, unsure
	}
	canonical, err := entry.ToUnstructured(decoded.Elem())
	if err != nil {
		return nil, unsure
	}
	written := overlay(declared, canonical)
	if reflect.DeepEqual(written, declared) {
		return declared, same
	}
	// A value that counts as none may be left out where it is, or with all that is around it, and stays as declared
	// then.
	if none, ok := decoded.Interface().(interface{ IsZero() bool }); ok && none.IsZero() || decoded.Elem().IsZero() {
		return nil, unsure
	}
	return written, changed
}

// encodes reports whether a value can be written as JSON that is read as the same value.
func encodes(declared any, depth int) bool {
	switch d := declared.(type) {
	case nil, bool, string, int64:
		return true
	case float64:
		return !math.IsNaN(d) && !math.IsInf(d, 0)
	case map[string]any:
		if d == nil || depth > maxDepth {
			return false
		}
		for _, member := range d {
			if !encodes(member, depth+1) {
				return false
			}
		}
		return true
	case []any:
		if d == nil || depth > maxDepth {
			return false
		}
		for _, element := range d {
			if !encodes(element, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}
