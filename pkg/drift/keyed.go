package drift

import (
	"slices"
	"strconv"
)

func (c *comparer) mergeKeyed(want, have []any, n *node) ([]any, bool) {
	m := &keyedMerge{
		c: c, n: n, want: want, have: have,
		partner: none(len(want)), owner: none(len(have)), slot: none(len(have)),
		skip: make([]bool, len(want)), out: make([]bool, len(have)), value: slices.Clone(have),
	}
	for i := range want {
		m.skip[i] = c.ignoredAt(strconv.Itoa(i))
	}
	m.pair()
	for i, j := range m.partner {
		if j >= 0 && !m.skip[i] {
			c.push(strconv.Itoa(i))
			v, changed := c.mergeMap(m.declared(i), m.live(j), n.elem)
			c.pop()
			if m.value[j], m.changed = v, m.changed || changed; c.asking && changed {
				return have, true
			}
		}
	}
	m.dropOverrides()
	missing := m.missing()
	if c.asking && m.changed {
		return have, true
	}
	restored := m.replaceTampered(missing)
	m.restoreKeys(restored)
	reorder := m.outOfOrder()
	if !m.changed {
		return have, false
	}
	return m.build(missing, restored, reorder), true
}

// pair finds the live element for the key of each desired one. Of several it takes the first one with all declared
// content, or else the first.
func (m *keyedMerge) pair() {
	byKey := map[string][]int{}
	for j, h := range m.have {
		if key, ok := keyText(h, m.n.keys); ok {
			byKey[key] = append(byKey[key], j)
		}
	}
	for i, w := range m.want {
		key, _ := keyText(w, m.n.keys)
		candidates := byKey[key]
		if len(candidates) == 0 {
			continue
		}
		for _, j := range candidates {
			m.owner[j] = i
		}
		holds := func(j int) bool { return m.c.try() && m.c.equalElement(i, w, m.have[j], m.n.elem) }
		at := candidates[0]
		if len(candidates) > 1 {
			at = candidates[max(0, slices.IndexFunc(candidates, holds))]
		}
		m.partner[i] = at
	}
}

// restoreKeys sets the declared keys of restored elements, even if those are ignored. Without its key an element would
// stay missing, and be written again and again.
func (m *keyedMerge) restoreKeys(restored map[int]any) {
	for i, v := range restored {
		e, ok := v.(map[string]any)
		if !ok {
			continue
		}
		target := mapMerge{live: e, target: e}
		for _, k := range m.n.keys {
			if want, declared := m.declared(i)[k.field]; declared && !scalarEqual(want, e[k.field]) {
				target.set(k.field, want)
			}
		}
		restored[i] = target.target
	}
}

// dropOverrides removes elements that override a declared element of the same key.
func (m *keyedMerge) dropOverrides() {
	if !m.n.lastOne {
		return
	}
	for j, h := range m.have {
		i := m.owner[j]
		if i < 0 || m.isPartner(j) || m.skip[i] {
			continue
		}
		c := m.c
		suffix := "/" + strconv.Itoa(i) + overrideSeparator + hexOf(h)
		if c.accepts(suffix, h) {
			continue
		}
		c.learn(suffix, h)
		c.reportAdded(strconv.Itoa(j))
		m.out[j], m.changed = true, true
	}
}

// missing reports the missing declared elements, and returns their indexes.
func (m *keyedMerge) missing() []int {
	var missing []int
	for i, j := range m.partner {
		if j >= 0 || m.skip[i] {
			continue
		}
		m.c.push(strconv.Itoa(i))
		if m.c.departs(Removed, absent(nil)) {
			missing = append(missing, i)
			m.changed = true
		}
		m.c.pop()
	}
	return missing
}

// outOfOrder reports existing declared elements in another order than declared, if their order matters.
func (m *keyedMerge) outOfOrder() bool {
	if !m.n.ordered && !m.siblingsExchanged() {
		return false
	}
	var sequence []int
	for j, i := range m.owner {
		if m.isPartner(j) && !m.skip[i] {
			sequence = append(sequence, i)
		}
	}
	if slices.IsSorted(sequence) || !m.c.departs(Modified, sequence) {
		return false
	}
	m.changed = true
	return true
}

// siblingsExchanged reports whether elements that differ only in the further merge keys are in another order than
// declared: TCP and UDP on one number. A strategic merge knows the first key alone and pairs such elements by their
// order, so the next helm upgrade (Helm 3) would fail with duplicates.
func (m *keyedMerge) siblingsExchanged() bool {
	if !m.n.siblings {
		return false
	}
	for k, at := range m.partner {
		if at < 0 || m.skip[k] {
			continue
		}
		for i := range k {
			if m.partner[i] > at && !m.skip[i] && keysEqual(m.declared(i), m.declared(k), m.n.keys[:1]) {
				return true
			}
		}
	}
	return false
}
