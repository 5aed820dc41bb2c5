package drift

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// schema is a random schema of the names a, b and c, with some nonsense in it.
func (s *source) schema(depth int) any {
	if depth == 0 {
		return map[string]any{"type": "string"}
	}
	m := map[string]any{}
	properties := func() any {
		p := map[string]any{}
		for _, name := range []string{"a", "b", "c"} {
			s.fill(p, name, func() any { return s.schema(depth - 1) })
		}
		return p
	}
	switch s.n(8) {
	case 0:
		m["default"] = s.scalar()
	case 1:
		m["additionalProperties"] = s.schema(depth - 1)
	case 2, 3, 4:
		m["items"] = s.schema(depth - 1)
		m["x-kubernetes-list-type"] = []any{"map", "set", "map", "atomic"}[s.n(4)]
		m["x-kubernetes-list-map-keys"] = s.list(2, s.name)
	case 5:
		m["x-kubernetes-map-type"] = "atomic"
		m["properties"] = properties()
	case 6:
		m["x-kubernetes-embedded-resource"] = true
		m["properties"] = properties()
	default:
		m["properties"] = properties()
	}
	if s.n(24) == 0 {
		for _, word := range sortedKeys(m) {
			m[word] = s.wild(2)
		}
	}
	return m
}

// fitting is a random value that a schema mostly allows.
func (s *source) fitting(schema any, depth int) any {
	m, ok := schema.(map[string]any)
	if !ok || depth == 0 || s.n(16) == 0 {
		return s.wild(depth)
	}
	if items, ok := m["items"]; ok {
		return s.list(3, func() any { return s.fitting(items, depth-1) })
	}
	properties, _ := m["properties"].(map[string]any)
	additional, isMap := m["additionalProperties"]
	if properties == nil && !isMap {
		return s.scalar()
	}
	out := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		below, known := properties[name]
		if !known {
			below = additional
		}
		s.fill(out, name, func() any { return s.fitting(below, depth-1) })
	}
	return out
}

func checkRandomDefinition(t *testing.T, kinds *Schemas, data []byte) {
	t.Helper()
	s := &source{data: data}
	properties := map[string]any{"a": s.schema(5), "b": s.schema(4), "c": s.schema(4)}
	if s.n(32) == 0 {
		properties["metadata"] = s.wild(2)
	}
	definition := map[string]any{"spec": map[string]any{"versions": []any{map[string]any{
		"name": "v1", "schema": map[string]any{"openAPIV3Schema": map[string]any{"properties": properties}}}}}}
	sch, err := kinds.ForDefinition(definition, "v1")
	check.NoError(t, err)
	desired := map[string]any{"a": s.fitting(properties["a"], 5), "b": s.fitting(properties["b"], 4), "c": s.wild(3)}
	opt := Options{Schema: sch}
	if r := Compare(desired, clone(desired), opt); len(r.Changes) > 0 {
		t.Fatalf("an object differs from itself: %q\n%v", changes(r.Changes), desired)
	}
	live := map[string]any{"a": s.fitting(properties["a"], 5), "b": s.fitting(properties["b"], 4), "c": s.wild(3)}
	if s.n(2) == 0 {
		live = clone(desired)
		if sites := sitesOf(desired, nil, nil); len(sites) > 0 {
			tamper(live, sites[s.n(len(sites))])
		}
	}
	checkRestores(t, desired, live, opt)
	opt.Accepted = Learn(desired, live, opt)
	if r := Compare(desired, live, opt); len(r.Changes) > 0 {
		t.Fatalf("changes %q after learning %v\ndesired %v\nlive    %v", changes(r.Changes), opt.Accepted, desired, live)
	}
}

func TestRandomDefinitions(t *testing.T) {
	kinds := schemas(t)
	randomly(5000, 100, 700, func(data []byte) { checkRandomDefinition(t, kinds, data) })
}

func FuzzDefinition(f *testing.F) {
	kinds := schemas(f)
	randomly(12, 300, 301, func(data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) { checkRandomDefinition(t, kinds, data) })
}
