package tamper

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// blanks returns null and an empty value in the place of each declared value, and any value in the place of a
// declared null.
func (g *generator) blanks() []mutation {
	var found []mutation
	for _, t := range kit.Tamperings(g.declared.Object) {
		path, live, ok := t.Locate(g.declared.Object, g.live.Object)
		if !t.Remove || !ok || g.isExempt(t) || len(path) < 2 {
			continue
		}
		empty := emptyOf(live)
		for _, value := range []any{nil, empty} {
			what := "null "
			if value != nil {
				what = "empty "
			}
			found = append(found, mutation{class: blank, what: what + drift.Pointer(t.Path...),
				requests: []request{replacement(path, value)}})
		}
	}
	return append(found, g.nulls()...)
}

// nulls returns changes of declared nulls that the API server keeps.
func (g *generator) nulls() []mutation {
	var found []mutation
	var walk func(path []string, declared, live any)
	walk = func(path []string, declared, live any) {
		path = slices.Clip(path)
		switch d := declared.(type) {
		case map[string]any:
			l, ok := live.(map[string]any)
			if !ok {
				return
			}
			for _, key := range sortedKeys(d) {
				at := slices.Concat(path, []string{key})
				if d[key] != nil {
					walk(at, d[key], l[key])
					continue
				}
				if _, kept := l[key]; !kept {
					continue // the API server takes it for absent
				}
				m := mutation{class: blank, what: "set the null " + drift.Pointer(at...)}
				for _, value := range []any{"added", int64(7), map[string]any{}, []any{}} {
					m.requests = append(m.requests, replacement(at, value))
				}
				found = append(found, m, mutation{class: blank, what: "remove the null " + drift.Pointer(at...),
					requests: []request{jsonPatch(operation{Op: "remove", Path: drift.Pointer(at...)})}})
			}
		case []any:
			l, _ := live.([]any)
			for i := range min(len(d), len(l)) {
				walk(append(path, strconv.Itoa(i)), d[i], l[i])
			}
		}
	}
	walk(nil, g.declared.Object, g.live.Object)
	return found
}

func emptyOf(value any) any {
	switch value.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	case string:
		return ""
	case bool:
		return false
	}
	return int64(0)
}

// changedDefaults returns an edit of each undeclared scalar.
func (g *generator) changedDefaults() []mutation {
	var found []mutation
	for _, t := range kit.Tamperings(g.live.Object) {
		if t.Remove || isOfServer(t.Path) || g.isLeftTo(t.Path) || g.declares(t.Path) {
			continue
		}
		bodies, err := t.Patches(g.live.Object, g.live.Object)
		if err != nil {
			panic(err) // what came out of JSON goes back into it
		}
		found = append(found, mutation{class: undeclared, what: "edit " +
			drift.Pointer(t.Path...), requests: patches(bodies)})
	}
	return found
}

// anywhere returns an addition in each place of the schema.
func (g *generator) anywhere(s shape) []mutation {
	var found []mutation
	for _, p := range s.places(g.live.Object) {
		if g.isLeftTo(p.path) || g.declares(p.path) {
			continue
		}
		found = append(found, mutation{class: strict, what: "add " + drift.Pointer(p.path...), requests: []request{
			jsonPatch(operation{Op: "add", Path: drift.Pointer(p.path...), Value: p.value}),
		}})
	}
	return found
}

// declares reports whether the value of the live object at a path is declared, or is Helm's own.
func (g *generator) declares(path []string) bool {
	if len(path) == 3 && path[0] == "metadata" && isOfHelm(path[2]) {
		return true
	}
	_, declared := at(g.declared.Object, path)
	return declared
}

func isOfHelm(key string) bool {
	return key == "app.kubernetes.io/managed-by" || key == "meta.helm.sh/release-name" ||
		key == "meta.helm.sh/release-namespace"
}

func replacement(path []string, value any) request {
	// The field of an operation is left out when it is nil, but null is wanted here.
	return jsonPatch(operation{Op: "replace", Path: drift.Pointer(path...), Value: explicit{value}})
}

// explicit is encoded as its value, null included.
type explicit struct{ value any }

// MarshalJSON implements json.Marshaler.
func (e explicit) MarshalJSON() ([]byte, error) { return json.Marshal(e.value) }
