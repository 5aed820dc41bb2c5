package drift

import (
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// object returns p.have without the additions of others.
func (s *stripper) object(p pair[map[string]any], n *node, own owners) (map[string]any, bool) {
	m := mapMerge{live: p.have, target: p.have}
	for name, have := range p.have {
		declared := p.want[name] != nil // null is compared with what was learnt, and otherwise declares nothing
		of := own.field(name)
		if have == nil || s.c.outside(name) || isKey(own.key, name) || s.c.ignoredAt(name) ||
			!declared && s.isRival(p, n, name) {
			continue
		}
		s.c.push(name)
		switch field := n.field(name); {
		case declared && field.isWhole() && of.foreignAlone():
			s.wholeValue(&m, p.want[name], have, name)
		case declared:
			s.declaredField(&m, p, name, field, of)
		case !s.stays(have):
			s.addedField(&m, p, name, field, of)
		}
		s.c.pop()
	}
	return m.target, m.changed
}

func isKey(key *value.FieldList, name string) bool {
	return key != nil && slices.ContainsFunc(*key, func(f value.Field) bool { return f.Name == name })
}

// isRival reports whether the API server put an undeclared field in the place of a declared one. A rival set by others
// is removed already.
func (s *stripper) isRival(p pair[map[string]any], n *node, name string) bool {
	if n == nil || n.object == nil || len(n.object.unions) == 0 {
		return false
	}
	for key := range p.want {
		if p.have[key] == nil && slices.Contains(s.c.rivals(n, key, false, p.want, p.have), name) {
			return true
		}
	}
	return false
}

// declaredField searches a declared field for additions.
func (s *stripper) declaredField(m *mapMerge, p pair[map[string]any], name string, n *node, of shares) {
	switch have := p.have[name].(type) {
	case map[string]any:
		want, isMap := p.want[name].(map[string]any)
		live, wasMap := p.live[name].(map[string]any)
		if !isMap || !wasMap || n != nil && n.exact {
			return
		}
		if v, changed := s.object(pair[map[string]any]{want, have, live}, n, of.below()); changed {
			m.set(name, v)
		}
	case []any:
		want, isList := p.want[name].([]any)
		live, wasList := p.live[name].([]any)
		if !isList || !wasList {
			return
		}
		exceeds := of.foreign.exceeds(of.others)
		if n == nil || n.list == atomicList || exceeds && s.c.kindOf(want, n) == atomicList {
			if exceeds {
				s.wholeList(m, want, have, name)
			}
			return
		}
		if v, changed := s.list(pair[[]any]{want, have, live}, n, of.below()); changed {
			m.set(name, v)
		}
	}
}

// addedField decides about an undeclared field.
func (s *stripper) addedField(m *mapMerge, p pair[map[string]any], name string, n *node, of shares) {
	v := m.live[name]
	if of.foreignAlone() && !s.holdsKept(v) {
		s.takeOut(m, name, v)
		return
	}
	before := len(s.additions)
	var rest any
	changed, empty := false, false
	switch have := v.(type) {
	case map[string]any:
		var o map[string]any
		o, changed = s.object(pair[map[string]any]{nil, have, have}, n, of.below())
		rest, empty = o, len(o) == 0
	case []any:
		if p.want == nil && of.foreign.nothing() { // nothing in an undeclared map counts as injected
			return
		}
		var l []any
		l, changed = s.list(pair[[]any]{nil, have, have}, n, of.below())
		rest, empty = l, len(l) == 0
	}
	switch {
	case !changed:
	case empty && of.foreign.itself && !of.others.itself &&
		!slices.ContainsFunc(s.additions[before:], func(a addition) bool { return a.injected }):
		s.additions = s.additions[:before]
		s.takeOut(m, name, v)
	default:
		m.set(name, rest)
	}
}

// list returns p.have without the elements that others added. An element is removed or stays as a whole: a part of one
// may not be valid.
func (s *stripper) list(p pair[[]any], n *node, own owners) ([]any, bool) {
	known := keyNamesIn(own.foreign)
	target, changed := p.have, false
	after := -1 // the last element of the live list that is removed
	for k, e := range p.have {
		var of shares
		if element, ok := pathElementIn(own.foreign, e, nil, known); ok {
			of = own.of(element)
		}
		v, differs, removed := e, false, false
		if i := n.declarationOf(p.want, e); i >= 0 {
			v, differs = s.insideElement(p, i, e, n, of.below())
		} else if j := s.removesElement(p, e, n, of, after); j >= 0 {
			after, removed = j, true
		}
		if (differs || removed) && !changed {
			target, changed = slices.Clone(p.have[:k]), true
		}
		if changed && !removed {
			target = append(target, v)
		}
	}
	return target, changed
}

// insideElement searches e, the element of desired element i, for additions. If several elements have its key, the
// declared one of them is unknown.
func (s *stripper) insideElement(p pair[[]any], i int, e any, n *node, own owners) (any, bool) {
	want, isMap := p.want[i].(map[string]any)
	have, hasMap := e.(map[string]any)
	if !isMap || !hasMap || n.list != keyedList || count(p.want, want, n) != 1 || count(p.have, want, n) != 1 {
		return e, false
	}
	j := n.indexOf(p.live, want)
	if j < 0 || count(p.live, want, n) != 1 {
		return e, false
	}
	s.c.push(strconv.Itoa(i))
	defer s.c.pop()
	if s.c.ignored() {
		return e, false
	}
	return s.object(pair[map[string]any]{want, have, p.live[j].(map[string]any)}, n.elem, own)
}

// removesElement decides about the undeclared element e of the list at the current path. It returns its index in the
// live list, after those of earlier removed ones, or -1 if it stays.
func (s *stripper) removesElement(p pair[[]any], e any, n *node, of shares, after int) int {
	key, injected := s.injected(p, e, n)
	if injected >= 0 && s.learnt != nil {
		s.learnt[key] = fingerprint(p.live[injected])
	}
	if j := indexIn(p.live, e, after); of.foreignAlone() && j >= 0 && s.removeElement(j, e) {
		return j
	}
	if injected < 0 || s.learnt != nil {
		return -1
	}
	if _, known := s.c.accepted[key]; !known && !of.foreignPart() {
		return -1
	}
	s.c.push(strconv.Itoa(injected))
	defer s.c.pop()
	if !s.record(Added, key, p.live[injected]) {
		return -1
	}
	s.additions[len(s.additions)-1].injected = true
	return injected
}

// removeElement decides about the undeclared element e, live index j, of the list at the current path.
func (s *stripper) removeElement(j int, e any) bool {
	key := Pointer(s.c.path...) + "/" + additionSuffix + hexOf(e)
	s.c.push(strconv.Itoa(j))
	defer s.c.pop()
	return !s.c.ignored() && !s.stays(e) && s.record(Added, key, e)
}
