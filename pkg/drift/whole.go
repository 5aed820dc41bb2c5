package drift

// This file is about declared maps and lists with one owner as a whole: atomic ones, for the API server. In scope
// Declared such a map is compared like any other (except those in exact_kinds.go), because controllers add to them:
// Argo Rollouts to the selectors of Services, for example. Of the elements of such a list only the declared fields are
// compared, because the API server defaults the others. In scope Strict a foreign owner of the whole has changed all
// its undeclared fields.

// wholeValue removes the undeclared parts of a declared map or list that a foreign manager owns as a whole.
func (s *stripper) wholeValue(m *mapMerge, want, have any, name string) {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			if v, changed := s.undeclared(w, h); changed {
				m.set(name, v)
			}
		}
	case []any:
		if h, ok := have.([]any); ok {
			s.wholeList(m, w, h, name)
		}
	}
}

// undeclared returns have without the keys that want lacks, at any depth.
func (s *stripper) undeclared(want, have map[string]any) (map[string]any, bool) {
	m := mapMerge{live: have, target: have}
	for key, v := range have {
		s.c.push(key)
		declared := want[key]
		switch {
		case s.c.ignored() || v == nil:
		case declared != nil:
			s.wholeValue(&m, declared, v, key)
		case !s.stays(v):
			s.takeOut(&m, key, v)
		}
		s.c.pop()
	}
	return m.target, m.changed
}

// wholeList restores a list with all declared content whose elements hold undeclared, unlearnt values: a changed
// default, an added field. No manager owns a part of such a list, so it is written whole as declared, and the API
// server makes the learnt form of it again. Before a default is learnt, it looks like an addition. Then the dry run
// after every first comparison of an object decides.
func (s *stripper) wholeList(m *mapMerge, want, have []any, name string) {
	if s.stays(have) {
		return
	}
	declared := s.c.adopt(want, have)
	if !deepEqual(declared, have) && s.record(Modified, Pointer(s.c.path...)+additionSuffix, have) {
		m.set(name, declared)
	}
}
