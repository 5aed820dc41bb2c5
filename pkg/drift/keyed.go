package drift

import (
	"slices"
	"strconv"
)

// equalKeyed reports whether every declared element of a list merged by key is there and holds what is declared, in
// the declared order where that matters, and is not overridden by another of the same key.
func (c *comparer) equalKeyed(want, have []any, n *node) bool {
	search := keyedSearch{have: have, n: n}
	last, matched := -1, 0
	for i, w := range want {
		at, fits := c.findKeyed(i, w.(map[string]any), &search)
		if c.ignoredAt(strconv.Itoa(i)) {
			continue
		}
		if !fits {
			if at >= 0 || !c.acceptsAt(strconv.Itoa(i), func() uint64 { return fingerprintAbsent(nil) }) {
				return false
			}
			continue
		}
		if n.ordered || n.siblings {
			if at < last {
				return false // merge knows whether this order matters, and whether it is the learnt one
			}
			last = at
		}
		matched++
	}
	if !n.lastOne || matched == len(have) {
		return true
	}
	declared := 0
	for _, h := range have {
		if declaredKey(want, h, n.keys) >= 0 {
			declared++
		}
	}
	return declared <= matched // merge knows whether an override is a learnt one
}

// keyedSearch is a search in a live list.
type keyedSearch struct {
	have []any
	n    *node
	next int
}

// findKeyed returns the index of the first live element that has the key of element i of the desired list and holds
// what it declares; if none fits, of the first one that has the key, or -1. The search starts where the previous one
// succeeded, which makes it linear for lists in order.
func (c *comparer) findKeyed(i int, declared map[string]any, s *keyedSearch) (at int, fits bool) {
	at = -1
	for step := range s.have {
		j := s.next + step
		if j >= len(s.have) {
			j -= len(s.have)
		}
		h, ok := s.have[j].(map[string]any)
		if !ok || !keysEqual(declared, h, s.n.keys) {
			continue
		}
		if c.equalElement(i, declared, h, s.n.elem) {
			s.next = j + 1
			return j, true
		}
		if at < 0 {
			at = j
		}
	}
	return at, false
}

// keysEqual compares the merge keys of two elements.
func keysEqual(a, b map[string]any, keys []mergeKey) bool {
	for i := range keys {
		k := &keys[i]
		x, y := a[k.field], b[k.field]
		if x == nil {
			x = k.fallback
		}
		if y == nil {
			y = k.fallback
		}
		if !scalarEqual(x, y) {
			return false
		}
	}
	return true
}

// declaredKey returns the index of the first desired element with the key of a live one, or -1.
func declaredKey(want []any, have any, keys []mergeKey) int {
	h, ok := have.(map[string]any)
	if !ok {
		return -1
	}
	return slices.IndexFunc(want, func(w any) bool {
		declared, ok := w.(map[string]any)
		return ok && keysEqual(declared, h, keys)
	})
}

// keyedMerge is the work on one list merged by key.
type keyedMerge struct {
	c          *comparer
	n          *node
	want, have []any
	partner    []int  // by desired index: the live element, or -1
	owner      []int  // by live index: the desired element, or -1
	skip       []bool // by desired index: ignored
	out        []bool // by live index: to be taken out
	value      []any  // by live index: what stands there in the target
	slot       []int  // by live index: the missing desired element that comes back there, or -1
	changed    bool
}

func (c *comparer) mergeKeyed(want, have []any, n *node) ([]any, bool) {
	m := &keyedMerge{
		c: c, n: n, want: want, have: have,
		partner: filled(len(want)), owner: filled(len(have)), slot: filled(len(have)),
		skip: make([]bool, len(want)), out: make([]bool, len(have)), value: slices.Clone(have),
	}
	for i := range want {
		m.skip[i] = c.ignoredAt(strconv.Itoa(i))
	}
	search := keyedSearch{have: have, n: n}
	for i := range want {
		if j, _ := c.findKeyed(i, m.declared(i), &search); j >= 0 {
			m.partner[i], m.owner[j] = j, i
		}
	}
	for i, j := range m.partner {
		if j >= 0 && !m.skip[i] {
			c.push(strconv.Itoa(i))
			v, changed := c.mergeMap(m.declared(i), m.live(j), n.elem)
			c.pop()
			m.value[j], m.changed = v, m.changed || changed
		}
	}
	m.dropOverrides()
	missing := m.missing()
	restored := m.replaceTampered(missing)
	m.restoreKeys(restored)
	reorder := m.outOfOrder()
	if !m.changed {
		return have, false
	}
	return m.build(missing, restored, reorder), true
}

// restoreKeys gives elements that come back their declared keys, even where those are ignored: without its key an
// element would be missing for ever, and written again and again.
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

func (m *keyedMerge) declared(i int) map[string]any { return m.want[i].(map[string]any) }

func (m *keyedMerge) live(j int) map[string]any {
	h, ok := m.have[j].(map[string]any)
	if !ok {
		return nil
	}
	return h
}

// dropOverrides takes out what overrides a declared element of the same key.
func (m *keyedMerge) dropOverrides() {
	if !m.n.lastOne {
		return
	}
	for j, h := range m.have {
		if m.owner[j] >= 0 {
			continue
		}
		i := declaredKey(m.want, h, m.n.keys)
		if i < 0 || m.skip[i] {
			continue
		}
		c := m.c
		mark := fingerprint(h)
		seen := func() uint64 { return mark }
		segment := strconv.Itoa(i) + overrideMark + strconv.FormatUint(mark, 16)
		if c.acceptsAt(segment, seen) {
			continue
		}
		if c.learnt != nil && c.quiet == 0 {
			c.learnt[string(appendPointer(nil, c.path))+"/"+segment] = mark
		}
		c.reportAdded(strconv.Itoa(j))
		m.out[j], m.changed = true, true
	}
}

// missing reports the declared elements that are not there, and returns their indexes.
func (m *keyedMerge) missing() []int {
	var missing []int
	seen := func() uint64 { return fingerprintAbsent(nil) }
	for i, j := range m.partner {
		if j >= 0 || m.skip[i] {
			continue
		}
		m.c.push(strconv.Itoa(i))
		if !m.c.accepts(seen) {
			m.c.report(Removed, seen)
			missing = append(missing, i)
			m.changed = true
		}
		m.c.pop()
	}
	return missing
}

// outOfOrder reports declared elements that are there in another order than declared, where that matters.
func (m *keyedMerge) outOfOrder() bool {
	if !m.n.ordered && !m.siblingsExchanged() {
		return false
	}
	var sequence []any
	for _, i := range m.owner {
		if i >= 0 && !m.skip[i] {
			sequence = append(sequence, int64(i))
		}
	}
	ascending := slices.IsSortedFunc(sequence, func(a, b any) int { return int(integer(a) - integer(b)) })
	seen := func() uint64 { return fingerprint(sequence) }
	if ascending || m.c.accepts(seen) {
		return false
	}
	m.c.report(Modified, seen)
	m.changed = true
	return true
}

// siblingsExchanged reports whether elements that only the further merge keys tell apart are in another order than
// declared: TCP and UDP on one number. A strategic merge knows the first key alone and pairs such elements by their
// order, so that the next helm upgrade (Helm 3) would fail with duplicates.
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
