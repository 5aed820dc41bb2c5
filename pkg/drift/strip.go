package drift

import (
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// stripper removes the additions of others from an object. It visits only the parts with foreign fields.
type stripper struct {
	c         *cursor
	desired   map[string]any
	kept      []keptField
	additions []addition
}

// addition is a field or element to remove, or a list with such in its elements.
type addition struct {
	Change
	key  string // in a Baseline
	seen uint64 // its fingerprint there
}

// pair holds three forms of a part of an object: the desired one (nil if undeclared), the target so far, and the live
// one.
type pair[T any] struct{ want, have, live T }

// object returns p.have without the additions of others.
func (s *stripper) object(p pair[map[string]any], n *node, own owners) (map[string]any, bool) {
	m := mapMerge{live: p.have, target: p.have}
	if own.foreign == nil {
		return p.have, false
	}
	visit := func(element fieldpath.PathElement) {
		if element.FieldName == nil {
			return
		}
		name := *element.FieldName
		if p.have[name] == nil || s.c.outside(name) || isKey(own.key, name) {
			return
		}
		declared := p.want[name] != nil // null is compared with what was learnt, and otherwise declares nothing
		if !declared && s.isRival(p, n, name) {
			return
		}
		s.c.push(name)
		if !s.c.ignored() {
			field, of := n.field(name), own.of(element)
			switch {
			case declared && field.isWhole() && of.foreignAlone():
				s.wholeValue(&m, p.want[name], p.have[name], name)
			case declared:
				s.declaredField(&m, p, name, field, of)
			default:
				s.addedField(&m, name, field, of)
			}
		}
		s.c.pop()
	}
	own.foreign.Members.Iterate(visit)
	own.foreign.Children.Iterate(func(element fieldpath.PathElement) {
		if !own.foreign.Members.Has(element) {
			visit(element)
		}
	})
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
		if s.c.kindOf(want, n) == atomicList {
			if of.foreign.exceeds(of.others) {
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
func (s *stripper) addedField(m *mapMerge, name string, n *node, of shares) {
	v := m.live[name]
	if s.stays(v) {
		return
	}
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
		var l []any
		l, changed = s.list(pair[[]any]{nil, have, have}, n, of.below())
		rest, empty = l, len(l) == 0
	}
	switch {
	case !changed:
	case empty && of.foreign.itself && !of.others.itself:
		s.additions = s.additions[:before]
		s.takeOut(m, name, v)
	default:
		m.set(name, rest)
	}
}

// takeOut takes the undeclared field called name, at the current path, out of the target.
func (s *stripper) takeOut(m *mapMerge, name string, v any) {
	fallback := fallbackFor(s.desired, s.c.path)
	if fallback != nil && deepEqual(v, fallback) || !s.remove(v) {
		return
	}
	m.own()
	if delete(m.target, name); fallback != nil {
		m.target[name] = fallback
	}
}

// list returns p.have without the elements that others added. An element is removed or stays as a whole: a part of one
// may not be valid.
func (s *stripper) list(p pair[[]any], n *node, own owners) ([]any, bool) {
	if own.foreign == nil {
		return p.have, false
	}
	known := keyNamesIn(own.foreign)
	target := make([]any, 0, len(p.have))
	taken := make([]bool, len(p.live))
	changed := false
	for _, e := range p.have {
		element, ok := pathElementIn(own.foreign, e, nil, known)
		if !ok {
			target = append(target, e)
			continue
		}
		of := own.of(element)
		if i := n.declarationOf(p.want, e); i >= 0 {
			v, differs := s.insideElement(p, i, e, n, of.below())
			target, changed = append(target, v), changed || differs
			continue
		}
		j := indexIn(p.live, e, taken)
		if of.foreignAlone() && j >= 0 && s.removeElement(j, e) {
			taken[j], changed = true, true
			continue
		}
		target = append(target, e)
	}
	if !changed {
		return p.have, false
	}
	return target, true
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

// removeElement decides about the undeclared element e, live index j, of the list at the current path.
func (s *stripper) removeElement(j int, e any) bool {
	s.c.push(strconv.Itoa(j))
	defer s.c.pop()
	if s.c.ignored() || s.stays(e) {
		return false
	}
	parent := Pointer(s.c.path[:len(s.c.path)-1]...)
	return s.record(Added, parent+"/"+additionSuffix+hexOf(e), e)
}

// remove decides about the undeclared value v of the field at the current path.
func (s *stripper) remove(v any) bool {
	return s.record(Added, Pointer(s.c.path...)+additionSuffix, v)
}

// record records the removal of the value at the current path, unless it was learnt under a key.
func (s *stripper) record(op Operation, key string, v any) bool {
	hash := fingerprint(v)
	if learnt, ok := s.c.accepted[key]; ok && learnt == hash {
		return false
	}
	s.additions = append(s.additions, addition{Change{Pointer(s.c.path...), op}, key, hash})
	return true
}
