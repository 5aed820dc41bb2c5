package drift

import (
	"maps"
	"slices"
	"strconv"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// This file is about declared nulls. Mostly the API server ignores null, and so does the comparison: the field is not
// declared. If it keeps the null (a nullable field of a custom resource), or an empty text in its place (the data of a
// ConfigMap), [Learn] records that, and from then on it is compared.

// maxNulls bounds the nulls learnt of one object, in the order of the paths: each takes some tens of bytes while the
// object is locked.
const maxNulls = 50

// learnNulls records the declared nulls that the live object has.
func (c *recorder) learnNulls(desired, live map[string]any, n *node) {
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		want := desired[key]
		if c.outside(key) {
			continue
		}
		c.push(key)
		if !c.ignored() {
			have, there := live[key]
			if want != nil {
				c.learnNullsBelow(want, have, n.field(key))
			} else if there && (have == nil || have == "" && n.isMap()) && len(c.learnt.filter(isNull)) < maxNulls {
				c.learn(nullSuffix, have)
			}
		}
		c.pop()
	}
}

func (c *recorder) learnNullsBelow(want, have any, n *node) {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			c.learnNulls(w, h, n)
		}
	case []any:
		h, _ := have.([]any)
		kind := c.kindOf(w, n)
		for i, e := range w {
			at := i
			if kind == keyedList {
				at = n.indexOf(h, e)
			}
			if at < 0 || at >= len(h) || kind == setList {
				continue
			}
			c.push(strconv.Itoa(i))
			c.learnNullsBelow(e, h[at], n.element())
			c.pop()
		}
	}
}

// SetsNull reports whether target has a null beyond those of live, or a list with a null that differs from live's. A
// merge patch cannot write it: a null in one removes the field, and the API server drops nulls in its lists.
func SetsNull(live, target map[string]any) bool {
	for key, want := range target {
		have, there := live[key]
		if want == nil && (!there || have != nil) {
			return true
		}
		switch w := want.(type) {
		case map[string]any:
			h, _ := have.(map[string]any)
			if SetsNull(h, w) {
				return true
			}
		case []any:
			if manifest.DeclaresNull(w) && !deepEqual(have, w) {
				return true
			}
		}
	}
	return false
}

// PatchOperation is one of a JSON patch (RFC 6902).
type PatchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// JSONPatch returns the operations of a JSON patch from live to target, in the order of their paths. It replaces lists
// as a whole. It shares memory with target.
func JSONPatch(live, target map[string]any) []PatchOperation { return jsonPatch(nil, live, target) }

func jsonPatch(path []string, live, target map[string]any) []PatchOperation {
	var operations []PatchOperation
	keys := maps.Clone(live)
	maps.Copy(keys, target)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at := append(slices.Clip(path), key)
		pointer := Pointer(at...)
		have, there := live[key]
		want, stays := target[key]
		h, wasMap := have.(map[string]any)
		w, isMap := want.(map[string]any)
		switch {
		case there && stays && deepEqual(have, want):
		case !stays:
			operations = append(operations, PatchOperation{Op: "remove", Path: pointer})
		case wasMap && isMap:
			operations = append(operations, jsonPatch(at, h, w)...)
		default:
			operations = append(operations, PatchOperation{Op: "add", Path: pointer, Value: want})
		}
	}
	return operations
}
