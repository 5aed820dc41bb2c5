package drift

import (
	"strconv"
)

func (c *comparer) mergeSet(want, have []any, n *node) ([]any, bool) {
	entries := make([]entry, len(have))
	for j, h := range have {
		entries[j] = entry{value: h, declared: n.declarationOf(want, h)}
	}
	var missing []int
	for i, w := range want {
		if n.indexOf(have, w) >= 0 || n.indexOf(want[:i], w) >= 0 {
			continue
		}
		c.push(strconv.Itoa(i))
		if !c.ignored() && c.departs(Removed, absent(nil)) {
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
