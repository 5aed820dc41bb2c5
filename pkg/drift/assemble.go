package drift

import (
	"slices"
)

// entry is an element of a list under construction; declared is its index in the desired list, or -1.
type entry struct {
	value    any
	declared int
}

// insert puts an element right after the nearest preceding element of the desired list, or else before the nearest
// following one, or else at the end.
func insert(entries []entry, e entry) []entry {
	before, after := -1, -1
	for pos, x := range entries {
		switch {
		case x.declared < 0:
		case x.declared < e.declared && (before < 0 || x.declared >= entries[before].declared):
			before = pos
		case x.declared > e.declared && (after < 0 || x.declared < entries[after].declared):
			after = pos
		}
	}
	at := len(entries)
	if before >= 0 {
		at = before + 1
	} else if after >= 0 {
		at = after
	}
	return slices.Insert(entries, at, e)
}

func valuesOf(entries []entry) []any {
	list := make([]any, len(entries))
	for i, e := range entries {
		list[i] = e.value
	}
	return list
}

// build puts the target list together. Foreign elements stay where they are.
func (m *keyedMerge) build(missing []int, restored map[int]any, reorder bool) []any {
	entries := make([]entry, 0, len(m.have)+len(missing))
	placed := map[int]bool{}
	for j := range m.have {
		switch i := m.slot[j]; {
		case i >= 0:
			entries = append(entries, entry{value: restored[i], declared: i})
			placed[i] = true
		case !m.out[j]:
			entries = append(entries, entry{value: m.value[j], declared: m.owner[j]})
		}
	}
	for _, i := range missing {
		if !placed[i] {
			entries = insert(entries, entry{value: restored[i], declared: i})
		}
	}
	if reorder || (m.n.ordered || m.n.siblings) && len(missing) > 0 {
		m.sortDeclared(entries)
	}
	return valuesOf(entries)
}

// sortDeclared sorts the declared elements in their present places. Elements of one key keep their order, because the
// first of them is the compared one.
func (m *keyedMerge) sortDeclared(entries []entry) {
	var places []int
	var sorted []entry
	for pos, e := range entries {
		if e.declared >= 0 && !m.skip[e.declared] {
			places = append(places, pos)
			sorted = append(sorted, e)
		}
	}
	slices.SortStableFunc(sorted, func(a, b entry) int { return a.declared - b.declared })
	for k, pos := range places {
		entries[pos] = sorted[k]
	}
}
