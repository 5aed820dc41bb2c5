package drift

import (
	"slices"
	"strconv"
)

func (c *comparer) mergeSet(want, have []any, n *node) ([]any, bool) {
	entries := make([]entry, len(have))
	for j, h := range have {
		entries[j] = entry{value: h, declared: slices.IndexFunc(want, func(w any) bool { return sameElement(w, h, n) })}
	}
	var missing []int
	for i, w := range want {
		if indexOf(have, w, n) >= 0 || indexOf(want[:i], w, n) >= 0 {
			continue
		}
		c.push(strconv.Itoa(i))
		seen := func() uint64 { return fingerprintAbsent(nil) }
		if !c.ignored() && !c.accepts(seen) {
			c.report(Removed, seen)
			missing = append(missing, i)
		}
		c.pop()
	}
	if len(missing) == 0 {
		return have, false
	}
	return valuesOf(c.restoreElements(want, entries, missing, n)), true
}

// restoreElements restores the missing declared elements of a set. An edited one still exists under another value, and
// is removed. As in lists merged by key, that is an undeclared element at the index of the missing one, in a list of
// unchanged length.
func (c *comparer) restoreElements(want []any, entries []entry, missing []int, n *node) []entry {
	sameLength := len(want) == len(entries)
	var left []int
	for _, i := range missing {
		if !n.edited || !sameLength || entries[i].declared >= 0 || c.ignoredAt(strconv.Itoa(i)) {
			left = append(left, i)
			continue
		}
		c.reportAdded(strconv.Itoa(i))
		entries[i] = entry{value: deepCopy(want[i]), declared: i}
	}
	for _, i := range left {
		entries = insert(entries, entry{value: deepCopy(want[i]), declared: i})
	}
	return entries
}

// indexOf returns the index of the first element that is the declared element want, or -1.
func indexOf(list []any, want any, n *node) int {
	return slices.IndexFunc(list, func(e any) bool { return sameElement(want, e, n) })
}

// sameElement reports whether an element of a set is the declared one.
func sameElement(want, have any, n *node) bool {
	if _, isMap := want.(map[string]any); !isMap {
		return scalarEqual(want, have)
	}
	var c comparer // what is ignored or learnt inside of an element would make it another one
	return c.equal(want, have, n.elem)
}
