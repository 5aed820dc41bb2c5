package drift

import (
	"slices"
)

// keysEqual compares the merge keys of two elements.
func keysEqual(a, b map[string]any, keys []mergeKey) bool {
	return !slices.ContainsFunc(keys, func(k mergeKey) bool { return !scalarEqual(k.of(a), k.of(b)) })
}

// isSame reports whether an element of a live list with several owners is the declared one: it has the same merge keys,
// or it is an equal member of a set.
func (n *node) isSame(want, have any) bool {
	w, isMap := want.(map[string]any)
	switch h, ok := have.(map[string]any); {
	case n.list == keyedList:
		return isMap && ok && keysEqual(w, h, n.keys)
	case !isMap:
		return scalarEqual(want, have)
	}
	var c comparer // what is ignored or learnt inside of an element would make it another one
	return c.equal(want, have, n.elem)
}

// indexOf returns the index of the first live element that is the declared one, or -1.
func (n *node) indexOf(live []any, want any) int {
	return slices.IndexFunc(live, func(have any) bool { return n.isSame(want, have) })
}

// declarationOf returns the index of the first desired element that is the live one, or -1.
func (n *node) declarationOf(want []any, have any) int {
	return slices.IndexFunc(want, func(w any) bool { return n.isSame(w, have) })
}

// count returns the number of elements of list with the key of an element.
func count(list []any, of map[string]any, n *node) int {
	found := 0
	for _, e := range list {
		if n.isSame(of, e) {
			found++
		}
	}
	return found
}

// indexIn returns the index of e in the live list, after another index; -1 for none. e was carried over unchanged.
func indexIn(live []any, e any, after int) int {
	for j := after + 1; j < len(live); j++ {
		if deepEqual(live[j], e) {
			return j
		}
	}
	return -1
}
