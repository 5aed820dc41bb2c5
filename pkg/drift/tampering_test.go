package drift

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// site is a place in a declared object that can be tampered with.
type site struct {
	path []string
	op   string // mutate, remove, drop, swap
}

// sitesOf lists the places of an object that are protected.
func sitesOf(v any, path []string, out []site) []site {
	here := slices.Clone(path)
	switch x := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) { // the same order in every run
			e := x[k]
			if len(path) == 0 && (k == "apiVersion" || k == "kind") ||
				len(path) == 1 && path[0] == "metadata" && (k == "name" || k == "namespace") {
				continue
			}
			out = append(out, site{append(slices.Clone(path), k), "remove"})
			out = sitesOf(e, append(here, k), out)
		}
	case []any:
		for i, e := range x {
			out = append(out, site{append(slices.Clone(path), fmt.Sprint(i)), "drop"})
			if i > 0 {
				out = append(out, site{append(slices.Clone(path), fmt.Sprint(i)), "swap"})
			}
			out = sitesOf(e, append(here, fmt.Sprint(i)), out)
		}
	default:
		out = append(out, site{here, "mutate"})
	}
	return out
}

// tamper changes the object at a site, if it still exists.
func tamper(o map[string]any, s site) {
	parent, last := at(o, s.path[:len(s.path)-1]...), s.path[len(s.path)-1]
	i := 0
	if list, ok := parent.([]any); ok {
		if _, err := fmt.Sscan(last, &i); err != nil || i >= len(list) {
			return
		}
	}
	switch p := parent.(type) {
	case map[string]any:
		v, ok := p[last]
		switch {
		case !ok:
		case s.op == "remove":
			delete(p, last)
		case s.op == "mutate":
			p[last] = mutated(v)
		}
	case []any:
		switch s.op {
		case "mutate":
			p[i] = mutated(p[i])
		case "swap":
			if i > 0 {
				p[i], p[i-1] = p[i-1], p[i]
			}
		case "drop":
			replace(o, s.path[:len(s.path)-1], slices.Delete(slices.Clone(p), i, i+1))
		}
	}
}

func replace(o map[string]any, path []string, v any) {
	switch p := at(o, path[:len(path)-1]...).(type) {
	case map[string]any:
		p[path[len(path)-1]] = v
	case []any:
		var i int
		if _, err := fmt.Sscan(path[len(path)-1], &i); err == nil {
			p[i] = v
		}
	}
}

func mutated(v any) any {
	switch x := v.(type) {
	case string:
		return x + "-tampered"
	case bool:
		return !x
	case int64:
		return x + 1000
	case float64:
		return x + 1000
	}
	return "tampered"
}

// marker is in everything that the tests add to an object as another party would.
const marker = "zz-foreign"

// addForeign adds a key to every map that is not one value, and two elements to every merged list, outside of
// atomic lists.
func addForeign(v any, n *node, depth int) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			x[k] = addForeign(e, n.field(k), depth+1)
		}
		if depth > 0 && (n == nil || !n.exact) {
			x[marker] = marker
		}
	case []any:
		if n == nil {
			return x
		}
		switch {
		case n.list == keyedList && allMaps(x):
			for _, e := range x {
				addForeign(e, n.elem, depth+1)
			}
			for i := range 2 {
				x = append(x, map[string]any{n.keys[0].field: fmt.Sprint(marker, i)})
			}
		case n.list == setList:
			x = append(x, marker)
		}
		return x
	}
	return v
}

func countMarkers(v any) int {
	sum := 0
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if k == marker {
				sum++
			}
			sum += countMarkers(e)
		}
	case []any:
		for _, e := range x {
			sum += countMarkers(e)
		}
	case string:
		if strings.HasPrefix(x, marker) && !strings.HasSuffix(x, "tampered") {
			sum++
		}
	}
	return sum
}
