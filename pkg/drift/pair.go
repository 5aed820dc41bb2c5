package drift

import (
	"strconv"
)

// pair finds the partners of the desired elements: those that hold all that is declared, then, within the same key,
// the most similar.
//
// Keys should be unique, and then this is simple. Where they are not, what an element declares may be held by
// several, so that taking the first fit could leave another without its only fit, or see a wrong order: elements
// of one key are aligned in order first, and rearranged only when that leaves one out. Elements whose absence was
// learnt take no partner from one that has to be there.
func (m *keyedMerge) pair() {
	optional := make([]bool, len(m.want))
	absent := func() uint64 { return fingerprintAbsent(nil) }
	for i := range m.want {
		optional[i] = m.c.acceptsAt(strconv.Itoa(i), absent)
	}
	m.pairUnique(optional)
	for _, last := range []bool{false, true} {
		for i := range m.want {
			if m.partner[i] < 0 && optional[i] == last {
				m.pairByRearranging(i, make([]bool, len(m.have)))
			}
		}
		for i := range m.want {
			if m.partner[i] < 0 && optional[i] == last {
				m.pairMostSimilar(i)
			}
		}
	}
}

// pairUnique pairs elements that hold all that is declared, group by group where several have the same key.
func (m *keyedMerge) pairUnique(optional []bool) {
	c := m.c
	c.used = append(c.used, make([]bool, len(m.have))...)
	base := len(c.used) - len(m.have)
	defer func() { c.used = c.used[:base] }()
	grouped := make([]bool, len(m.want))
	search := keyedSearch{have: m.have, n: m.n, base: base}
	for i := range m.want {
		if grouped[i] {
			continue
		}
		if group := m.sameKey(i); len(group) > 1 {
			for _, k := range group {
				grouped[k] = true
			}
			m.alignGroup(group, optional)
			continue
		}
		if at, _ := c.findKeyed(i, m.declared(i), &search); at >= 0 {
			m.partner[i], m.owner[at] = at, i
		}
	}
}

// sameKey returns the desired elements from index i on that have its key.
func (m *keyedMerge) sameKey(i int) []int {
	group := []int{i}
	for k := i + 1; k < len(m.want); k++ {
		if keysEqual(m.declared(i), m.declared(k), m.n.keys) {
			group = append(group, k)
		}
	}
	return group
}

// alignGroup pairs as many elements of one key as can be paired without changing their order, required ones
// before optional ones: the longest common subsequence, weighted.
func (m *keyedMerge) alignGroup(group []int, optional []bool) {
	var live []int
	for j := range m.have {
		if h := m.live(j); h != nil && keysEqual(m.declared(group[0]), h, m.n.keys) {
			live = append(live, j)
		}
	}
	weight := func(a int) int {
		if optional[group[a]] {
			return 1
		}
		return len(group) + 1
	}
	fits := make([][]bool, len(group))
	best := make([][]int, len(group)+1) // best[a][b]: the weight of pairs among group[a:] and live[b:]
	for a := range best {
		best[a] = make([]int, len(live)+1)
	}
	for a := len(group) - 1; a >= 0; a-- {
		fits[a] = make([]bool, len(live))
		for b := len(live) - 1; b >= 0; b-- {
			fits[a][b] = m.c.try() && m.c.equalElement(group[a], m.declared(group[a]), m.have[live[b]], m.n.elem)
			best[a][b] = max(best[a+1][b], best[a][b+1])
			if fits[a][b] {
				best[a][b] = max(best[a][b], weight(a)+best[a+1][b+1])
			}
		}
	}
	for a, b := 0, 0; a < len(group) && b < len(live); {
		switch {
		case fits[a][b] && best[a][b] == weight(a)+best[a+1][b+1]:
			m.partner[group[a]], m.owner[live[b]] = live[b], group[a]
			a, b = a+1, b+1
		case best[a][b] == best[a+1][b]:
			a++
		default:
			b++
		}
	}
}

// pairByRearranging finds a partner for desired element i by giving others of its key another one, as far as every
// pair still holds all that is declared.
func (m *keyedMerge) pairByRearranging(i int, seen []bool) bool {
	for j := range m.have {
		h := m.live(j)
		if h == nil || seen[j] || !keysEqual(m.declared(i), h, m.n.keys) || !m.c.try() ||
			!m.c.equalElement(i, m.declared(i), h, m.n.elem) {
			continue
		}
		seen[j] = true
		if m.owner[j] < 0 || m.pairByRearranging(m.owner[j], seen) {
			m.partner[i], m.owner[j] = j, i
			return true
		}
	}
	return false
}

// pairMostSimilar pairs element i with the most similar live one of its key that has no owner.
func (m *keyedMerge) pairMostSimilar(i int) {
	best, bestScore := -1, -1.0
	for j := range m.have {
		h := m.live(j)
		if h == nil || m.owner[j] >= 0 || !keysEqual(m.declared(i), h, m.n.keys) {
			continue
		}
		score := 0.0
		if m.c.try() {
			same, total := m.c.similarity(m.declared(i), h, m.n)
			score = float64(same) / float64(max(total, 1))
		}
		if score > bestScore {
			best, bestScore = j, score
		}
	}
	if best >= 0 {
		m.partner[i], m.owner[best] = best, i
	}
}
