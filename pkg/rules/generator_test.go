package rules

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// generator makes objects of few different names and values, so that they collide. Keys of lists are unique.
type generator struct{ *rand.Rand }

func (g generator) text() any { return string(rune('a' + g.IntN(3))) }

func (g generator) named(most int, fill func(map[string]any)) []any {
	var list []any
	for _, i := range g.Perm(3)[:g.IntN(most+1)] {
		e := map[string]any{"name": string(rune('a' + i))}
		fill(e)
		list = append(list, e)
	}
	return list
}

func (g generator) tree(depth int) any {
	switch n := g.IntN(5); {
	case depth == 0 || n == 0:
		return []any{"x", "y", int64(1), true}[g.IntN(4)]
	case n == 1:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.tree(depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range g.IntN(4) {
		m[g.text().(string)] = g.tree(depth - 1)
	}
	return m
}

func (g generator) object() map[string]any {
	spec := map[string]any{"containers": g.named(3, func(e map[string]any) {
		e["image"] = g.text()
		if g.IntN(2) == 0 {
			e["args"] = []any{g.text(), g.text()}
		}
		e["env"] = g.named(3, func(e map[string]any) { e["value"] = g.text() })
	}), "nodeSelector": map[string]any{"a": g.text(), "b": g.text()}}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec, "tree": g.tree(4),
		"metadata": map[string]any{"name": "p", "labels": map[string]any{"a": g.text(), "b": g.text()},
			"finalizers": []any{"x/" + g.text().(string), "y/y"}}}
}

// tamper changes values, removes keys and elements, and adds some.
func (g generator) tamper(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, e := range x {
			if g.IntN(12) > 0 || key == "name" {
				out[key] = g.tamper(e)
			}
		}
		if _, element := x["name"]; !element && g.IntN(6) == 0 {
			out[g.text().(string)] = g.text()
		}
		return out
	case []any:
		out := []any{}
		for _, e := range x {
			if g.IntN(10) > 0 {
				out = append(out, g.tamper(e))
			}
		}
		return out
	case string:
		if g.IntN(8) == 0 && x != "p" {
			return x + "'"
		}
	}
	return v
}

// pathsOf returns the paths of all values.
func pathsOf(v any, at []string, out *[][]string) {
	*out = append(*out, slices.Clone(at))
	switch x := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			pathsOf(x[key], append(slices.Clone(at), key), out)
		}
	case []any:
		for i, e := range x {
			pathsOf(e, append(slices.Clone(at), strconv.Itoa(i)), out)
		}
	}
}

func (g generator) rules(desired map[string]any) []v1alpha1.IgnoreRule {
	var paths [][]string
	pathsOf(desired, nil, &paths)
	var ignore []v1alpha1.IgnoreRule
	for range 1 + g.IntN(3) {
		r := v1alpha1.IgnoreRule{}
		for range g.IntN(4) {
			pointer := ""
			for _, segment := range paths[1+g.IntN(len(paths)-1)] {
				if g.IntN(5) == 0 {
					segment = "*"
				}
				pointer += "/" + strings.ReplaceAll(segment, "/", "~1")
			}
			r.Paths = append(r.Paths, pointer)
		}
		if len(r.Paths) == 0 || g.IntN(3) == 0 {
			r.Managers = []string{"keda*"}
		}
		ignore = append(ignore, r)
	}
	return ignore
}

// claims writes FieldsV1 for some fields of an object.
func (g generator) claims(v any) map[string]any {
	fields := map[string]any{}
	switch x := v.(type) {
	case map[string]any:
		for key, e := range x {
			if g.IntN(2) == 0 {
				fields["f:"+key] = g.claims(e)
			}
		}
	case []any:
		for _, e := range x {
			if m, ok := e.(map[string]any); ok && m["name"] != nil && g.IntN(2) == 0 {
				name, _ := json.Marshal(map[string]any{"name": m["name"]})
				fields["k:"+string(name)] = g.claims(e)
			}
		}
	}
	return fields
}
