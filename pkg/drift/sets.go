package drift

import "strconv"

// equalSet says whether every declared element is there, in any order.
func (c *comparer) equalSet(want, have []any) bool {
	for i, w := range want {
		if i < len(have) && scalarEqual(w, have[i]) || indexOf(have, w) >= 0 {
			continue
		}
		c.push(strconv.Itoa(i))
		fine := c.ignored() || c.accepts(func() uint64 { return fingerprintAbsent(nil) })
		c.pop()
		if !fine {
			return false
		}
	}
	return true
}

func (c *comparer) mergeSet(want, have []any) ([]any, bool) {
	entries := make([]entry, len(have))
	for j, h := range have {
		entries[j] = entry{value: h, declared: indexOf(want, h)}
	}
	changed := false
	for i, w := range want {
		if indexOf(have, w) >= 0 || indexOf(want[:i], w) >= 0 {
			continue
		}
		c.push(strconv.Itoa(i))
		seen := func() uint64 { return fingerprintAbsent(nil) }
		if !c.ignored() && !c.accepts(seen) {
			c.report(Removed, seen)
			entries, changed = insert(entries, entry{value: w, declared: i}), true
		}
		c.pop()
	}
	if !changed {
		return have, false
	}
	return valuesOf(entries), true
}

func indexOf(list []any, v any) int {
	for i, e := range list {
		if scalarEqual(v, e) {
			return i
		}
	}
	return -1
}
