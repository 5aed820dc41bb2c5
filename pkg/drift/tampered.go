package drift

import (
	"cmp"
	"slices"
	"strconv"
)

// replaceTampered removes, for every missing element, its tampered form among the foreign elements, if there is one: a
// port with an edited number, or a container with an edited name. Leaving both would double the element, or be invalid.
// It returns the missing elements in their restored form: as declared, or as before the edit.
//
// An edit in place leaves the element between its neighbours and mostly unchanged, or keeps an identifying value (the
// name of a port). A foreign element without any similarity is the tampered form only at the index of the missing one,
// in a list of unchanged length.
func (m *keyedMerge) replaceTampered(missing []int) map[int]any {
	restored := map[int]any{}
	type candidate struct {
		i, j  int
		score float64
	}
	var candidates []candidate
	for _, i := range missing {
		restored[i] = deepCopy(m.want[i])
		for j := range m.have {
			if !m.isForeign(j) {
				continue
			}
			if score := m.tamperScore(i, j); score > 0 {
				candidates = append(candidates, candidate{i, j, score})
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(distance(a.i, a.j), distance(b.i, b.j)))
	})
	done := map[int]bool{}
	for _, x := range candidates {
		if done[x.i] || m.out[x.j] {
			continue
		}
		done[x.i] = true
		m.takeOut(x.i, x.j)
		if x.score > samePlace {
			restored[x.i] = m.undo(x.i, x.j)
		}
	}
	return restored
}

// samePlace is the score of an element that shares nothing with the missing one but its index, in a list of unchanged
// length.
const samePlace = 0.25

func (m *keyedMerge) isForeign(j int) bool {
	return !m.isPartner(j) && !m.out[j] && m.live(j) != nil
}

func distance(a, b int) int { return max(a-b, b-a) }

// takeOut removes live element j, the tampered form of the missing element i, which gets its place if it belongs there.
func (m *keyedMerge) takeOut(i, j int) {
	m.out[j] = true
	m.c.reportAdded(strconv.Itoa(j))
	if m.between(i, j) {
		m.slot[j] = i
	}
}

// between reports whether live element j is in the place of the missing element i: between the nearest declared
// elements before and after it.
func (m *keyedMerge) between(i, j int) bool {
	for k := i - 1; k >= 0; k-- {
		if m.partner[k] >= 0 {
			if j < m.partner[k] {
				return false
			}
			break
		}
	}
	for k := i + 1; k < len(m.partner); k++ {
		if m.partner[k] >= 0 {
			return j < m.partner[k]
		}
	}
	return true
}

// tamperScore rates the likelihood that live element j is the edited form of the missing element i; 0 is none.
func (m *keyedMerge) tamperScore(i, j int) float64 {
	w, h := m.declared(i), m.live(j)
	for _, field := range m.n.unique {
		if v := w[field]; v != nil && scalarEqual(v, h[field]) {
			return 3
		}
	}
	other := 0.0 // the score when nothing else speaks for it
	if i == j && len(m.want) == len(m.have) {
		other = samePlace
	}
	if !m.c.try() {
		return other
	}
	between := m.between(i, j)
	same, total := m.c.similarity(w, h, m.n)
	ratio := float64(same) / float64(max(total, 1))
	switch {
	case total == 0 && between && len(m.want) == len(m.have):
		return 0.5 // only its key is declared
	case total >= 2 && same == total:
		return 2
	case ratio >= 0.5 && between:
		return 1 + ratio
	}
	return other
}

// undo returns the tampered live element j with all declared content of element i, so that values assigned by the
// server (a node port) are not lost.
func (m *keyedMerge) undo(i, j int) any {
	before := m.c.quiet
	m.c.quiet = true
	m.c.push(strconv.Itoa(i))
	v, _ := m.c.mergeMap(m.declared(i), m.live(j), m.n.elem)
	m.c.pop()
	m.c.quiet = before
	for _, k := range m.n.keys {
		if _, declared := m.declared(i)[k.field]; declared || v[k.field] == nil || scalarEqual(v[k.field], k.fallback) {
			continue
		}
		clone := mapMerge{live: v, target: v}
		clone.own()
		v = clone.target
		if k.fallback == nil {
			delete(v, k.field)
		} else {
			v[k.field] = k.fallback
		}
	}
	return v
}

// similarity counts the declared values of a list element, except its merge key, and those of them that the live
// element shares. A list counts as one value.
func (c *comparer) similarity(want, have map[string]any, n *node) (same, total int) {
	for key, w := range want {
		if slices.ContainsFunc(n.keys, func(k mergeKey) bool { return k.field == key }) {
			continue
		}
		s, t := c.similarValue(w, have[key], n.elem.field(key))
		same, total = same+s, total+t
	}
	return same, total
}

func (c *comparer) similarValue(want, have any, n *node) (same, total int) {
	if w, ok := want.(map[string]any); ok && len(w) > 0 {
		h, _ := have.(map[string]any)
		for key, v := range w {
			s, t := c.similarValue(v, h[key], n.field(key))
			same, total = same+s, total+t
		}
		return same, total
	}
	if c.equal(want, have, n) {
		return 1, 1
	}
	return 0, 1
}
