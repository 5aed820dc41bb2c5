package manifest

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// maker makes values, most of which fit their type.
type maker struct {
	*rand.Rand
	// odd is how many of a thousand values do not care for their type.
	odd int
}

func (m maker) object(gvk schema.GroupVersionKind, t reflect.Type) map[string]any {
	object, ok := m.of(t, 0).(map[string]any)
	if !ok || object == nil {
		object = map[string]any{}
	}
	object["apiVersion"], object["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return object
}

var texts = []string{
	"", "a", "true", "null", "80", "é\u2028<&>", "\xff", "a\xffb", "\x00", "25%", "1000m", "1", "0", "0m", "1.5Gi",
	"1e3", "0.1", "+1", " 1", "lots", "10Ei",
	"YWJj", "YWJj\n", "YW Jj", "YWI=", "YWI", "\n", "%", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z",
	"2026-01-01T00:00:00.123456Z",
	"0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00", "1h", "60m", "0h", "0s", "yesterday",
}

var numbers = []any{
	int64(0), int64(1), int64(-1), int64(443), int64(math.MaxInt32), int64(math.MaxInt32 + 1),
	int64(math.MinInt32 - 1), int64(math.MaxInt64), int64(math.MinInt64),
	0.0, math.Copysign(0, -1), 0.5, 2.0, 1e21, 1e300, -1.5,
}

func pick[T any](m maker, from []T) T { return from[m.IntN(len(from))] }

// any makes a value of no type in particular.
func (m maker) any(depth int) any {
	switch n := m.IntN(12); {
	case n < 3:
		return pick(m, texts)
	case n < 5:
		return pick(m, numbers)
	case n == 5:
		return nil
	case n == 6:
		return m.IntN(2) == 0
	case n == 7 && m.IntN(20) == 0:
		return pick(m, []any{math.NaN(), math.Inf(1), map[string]any(nil), []any(nil)})
	case n < 10 && depth < 12:
		members := map[string]any{}
		for range m.IntN(4) {
			members[pick(m, append(texts, "name", "Name", "key", "kind", "spec", "value"))] = m.any(depth + 1)
		}
		return members
	case depth < 12:
		elements := make([]any, m.IntN(4))
		for i := range elements {
			elements[i] = m.any(depth + 1)
		}
		return elements
	}
	return "x"
}

func (m maker) of(t reflect.Type, depth int) any {
	if m.IntN(1000) < m.odd {
		return m.any(depth)
	}
	if t.Kind() == reflect.Pointer {
		return m.of(t.Elem(), depth)
	}
	if hasOwnForm(t) {
		if m.odd == 0 || m.IntN(3) > 0 {
			return map[string]any{"Quantity": "1000m", "IntOrString": int64(8080), "Time": "2026-01-01T01:00:00+01:00",
				"MicroTime": "2026-01-01T01:00:00.000000+01:00", "Duration": "60m"}[t.Name()]
		}
		return m.any(depth + 9)
	}
	switch t.Kind() {
	case reflect.String:
		return pick(m, []string{"", "a", "some-name", "80"})
	case reflect.Bool:
		return m.IntN(2) == 0
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return pick(m, []string{"", "YWJj", "YWJj\nZGVm\n", "\n", "\r\n"})
		}
		elements := make([]any, m.IntN(4))
		if depth > 10 {
			elements = elements[:0]
		}
		for i := range elements {
			elements[i] = m.of(t.Elem(), depth+1)
		}
		return elements
	case reflect.Map:
		members := map[string]any{}
		for range m.IntN(4) {
			members[pick(m, []string{"", "a", "b", "cpu", "é"})] = m.of(t.Elem(), depth+1)
		}
		return members
	case reflect.Struct:
		members := map[string]any{}
		m.fields(t, members, depth)
		return members
	default:
		if t.Kind() == reflect.Interface {
			return m.any(depth)
		}
		return int64(m.IntN(200))
	}
}

func (m maker) fields(t reflect.Type, members map[string]any, depth int) {
	for _, field := range value.TypeReflectEntryOf(t).OrderedFields() {
		name := field.JsonName
		if m.IntN(3+depth) > 1 || depth > 10 {
			continue
		}
		if m.IntN(1000) < m.odd {
			name = strings.ToUpper(name)
		}
		members[name] = m.of(field.GetFrom(reflect.New(t).Elem()).Type(), depth+1)
	}
}

// damage replaces one value somewhere.
func (m maker) damage(in any) {
	switch v := in.(type) {
	case map[string]any:
		if len(v) == 0 {
			v["added"] = m.any(9)
			return
		}
		key := pick(m, slices.Sorted(maps.Keys(v)))
		if leaf(v[key]) || m.IntN(10) == 0 {
			v[key] = m.any(9)
			return
		}
		m.damage(v[key])
	case []any:
		if i := m.IntN(len(v) + 1); i == len(v) {
			return
		} else if leaf(v[i]) || m.IntN(10) == 0 {
			v[i] = m.any(9)
		} else {
			m.damage(v[i])
		}
	}
}

func leaf(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
