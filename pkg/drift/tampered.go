package drift

import (
	"cmp"
	"slices"
	"strconv"
)

// replaceTampered takes out, for every missing element, the foreign one that is its tampered form, if there is
// one: a port whose number, or a container whose name was edited. Leaving both would double what was deployed,
// or be invalid. It returns the missing elements as they come back: as declared, or as they were before the edit.
//
// An edit in place leaves the element between its neighbours and most of it as it was, or keeps a value that
// identifies it (the name of a port). A foreign element that has nothing in common with the missing one counts only
// when it stands at its index in a list of unchanged length.
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

// samePlace is the score of an element that has nothing in common with the missing one but its index, in a list of
// unchanged length.
const samePlace = 0.25

func (m *keyedMerge) isForeign(j int) bool {
	return !m.isPartner(j) && !m.out[j] && m.live(j) != nil
}

func distance(a, b int) int { return max(a-b, b-a) }

// takeOut removes live element j, the tampered form of the missing element i, which gets its place if that is
// where it belongs.
func (m *keyedMerge) takeOut(i, j int) {
	m.out[j] = true
	m.c.reportAdded(strconv.Itoa(j))
	if m.between(i, j) {
		m.slot[j] = i
	}
}

// between reports whether live element j stands where the missing element i would be, between the declared elements
// that come before and after it.
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

// tamperScore says how sure it is that live element j is the missing element i, edited: 0 is not at all.
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

// undo returns the tampered live element j with all that element i declares, so that what the server assigned
// to it (a node port) is not lost.
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

// similarity counts the declared values of a list element, but for its merge key, and how many of them the live
// element has. A list counts as one value.
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
