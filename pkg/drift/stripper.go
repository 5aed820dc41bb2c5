package drift

import (
	"slices"
	"strconv"
)

// stripper removes the additions of others from an object.
type stripper struct {
	c         *cursor
	desired   map[string]any
	kept      []keptField
	learnt    Baseline // when set, the content of injected elements goes here
	additions []addition
}

// addition is a field or element to remove, or a list with such in its elements.
type addition struct {
	Change
	key      string // in a Baseline
	seen     uint64 // its fingerprint there
	injected bool   // it is a list element for a webhook to inject again
}

func (a addition) isForeign() bool { return !a.injected }

// pair holds three forms of a part of an object: the desired one (nil if undeclared), the target so far, and the live
// one.
type pair[T any] struct{ want, have, live T }

// stays reports whether the undeclared value v at the current path stays with any owner.
func (s *stripper) stays(v any) bool {
	path := s.c.path
	if len(path) == 3 && path[0] == "metadata" && path[1] == "finalizers" && ofKubernetes(v) {
		return true
	}
	return slices.ContainsFunc(s.kept, func(f keptField) bool {
		return len(path) >= len(f.path) && slices.EqualFunc(f.path, path[:len(f.path)], matches)
	})
}

// holdsKept reports whether a part of the undeclared value v at the current path stays: an ignored field, or, in
// metadata, a field that stays with any owner. List elements count as a whole.
func (s *stripper) holdsKept(v any) bool {
	if s.c.ignore == nil && s.c.path[0] != "metadata" {
		return false
	}
	below := func(segment string, v any, deeper bool) bool {
		s.c.push(segment)
		defer s.c.pop()
		return s.c.ignored() || s.c.path[0] == "metadata" && s.stays(v) || deeper && s.holdsKept(v)
	}
	switch x := v.(type) {
	case map[string]any:
		for key, e := range x {
			if below(key, e, true) {
				return true
			}
		}
	case []any:
		for j, e := range x {
			if below(strconv.Itoa(j), e, false) {
				return true
			}
		}
	}
	return false
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
	s.additions = append(s.additions, addition{Change: Change{Pointer(s.c.path...), op}, key: key, seen: hash})
	return true
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
