package drift

import (
	"strconv"
)

// WithoutIgnored returns the part of a desired object that a server-side apply may send when fields are ignored. An
// apply writes every field that it names, and removes a formerly named field that it no longer names. So WithoutIgnored
// names an ignored field, with its value in target, if owned reports that the applying manager owns it, and leaves it
// out otherwise. target is the Target of a comparison of live with the same opt, or live if nothing changed; paths are
// those of Ignore. Elements of atomic lists and atomic maps stay whole, with the values of target in ignored fields.
//
// The same holds for a map that is one value to the API server (the selector of a Service) while others have only added
// to it: an apply of the declared value would remove their additions. A map with defaults of the API server is sent as
// declared, as Helm sends it. A value in opt.Accepted is sent as it is: the webhook that set it may be gone, or set
// another one. The result shares nothing with desired.
func WithoutIgnored(
	desired, target, live map[string]any, opt Options, owned func(path []string) bool,
) map[string]any {
	c := newCursor(opt)
	s := ignorer{cursor: &c, owned: owned}
	return s.object(desired, target, live, opt.Schema.root)
}

type ignorer struct {
	*cursor
	owned  func([]string) bool
	atomic int // above zero, inside of an atomic list or map
}

func (s *ignorer) object(want, have, live map[string]any, n *node) map[string]any {
	out := make(map[string]any, len(want))
	for key, w := range want {
		if s.outside(key) {
			out[key] = deepCopy(w)
			continue
		}
		s.push(key)
		if v, ok := s.value(w, have[key], live[key], n.field(key)); ok {
			out[key] = v
		}
		s.pop()
	}
	return out
}

// value returns the value to send for a declared one, and whether to send it at all. live is nil inside of lists.
func (s *ignorer) value(want, have, live any, n *node) (any, bool) {
	ignored := s.ignored()
	if !ignored && s.isAccepted(want, have, n) {
		return deepCopy(have), true
	}
	switch w := want.(type) {
	case nil:
		if !ignored && have != nil {
			return asNull(have, n), true
		}
	case map[string]any:
		h, ok := have.(map[string]any)
		switch {
		case !ok && !ignored:
			return s.whole(w), true
		case !ignored && n.isWhole() && !n.hasDefaults() && !equalButNulls(w, h) && deepEqual(h, live):
			return deepCopy(h), s.ownedHere()
		}
		was, _ := live.(map[string]any)
		if !ignored && n.isOneValue() {
			s.atomic++
			defer func() { s.atomic-- }()
		}
		v := s.object(w, h, was, n)
		return v, !ignored || len(v) > 0
	case []any:
		if h, ok := have.([]any); ok && !ignored {
			return s.list(w, h, n), true
		}
	}
	switch {
	case !ignored:
		return deepCopy(want), true
	case have != nil && (s.atomic > 0 || s.ownedHere()):
		return deepCopy(have), true
	}
	return nil, false
}

// isAccepted reports whether the API server's value in place of a declared one is normal. In lists with several owners
// that holds for the elements.
func (s *ignorer) isAccepted(want, have any, n *node) bool {
	if list, ok := want.([]any); want == nil || have == nil || ok && s.kindOf(list, n) != atomicList {
		return false
	}
	return s.accepts("", have)
}

// asNull returns the value to send for a declared null while the object has one: an apply of it owns the field as the
// null does, and changes nothing. A default of the API server stays, and so does an addition.
func asNull(have any, n *node) any {
	switch h := have.(type) {
	case map[string]any:
		if n != nil && !n.isOneValue() {
			return map[string]any{}
		}
	case []any:
		if n != nil && n.list != atomicList {
			return []any{}
		}
	default:
		return h
	}
	return deepCopy(have)
}

// ownedHere reports whether the applying manager owns the field at the current path.
func (s *ignorer) ownedHere() bool { return s.owned != nil && s.owned(s.path) }

// whole returns a declared map that the target lacks, without the ignored fields.
func (s *ignorer) whole(want map[string]any) map[string]any {
	kept, _ := s.withoutIgnored(want)
	m, ok := kept.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return m
}

func (s *ignorer) list(want, have []any, n *node) []any {
	out := make([]any, 0, len(want))
	kind := s.kindOf(want, n)
	for i, w := range want {
		h := s.counterpart(kind, i, want, have, n)
		s.push(strconv.Itoa(i))
		switch {
		case h == nil && kind != atomicList && s.ignored():
			// Not there, and not to be written.
		case h == nil:
			out = append(out, deepCopy(w))
		default:
			if kind == atomicList {
				s.atomic++
			}
			if v, ok := s.value(w, h, nil, n.element()); ok {
				out = append(out, withKeys(kind, v, w, n))
			}
			if kind == atomicList {
				s.atomic--
			}
		}
		s.pop()
	}
	return out
}

// counterpart returns the element of the target for element i of the desired list; nil for none.
func (s *ignorer) counterpart(kind listKind, i int, want, have []any, n *node) any {
	switch {
	case kind != atomicList:
		if at := n.indexOf(have, want[i]); at >= 0 {
			return have[at]
		}
	case len(have) == len(want):
		return have[i]
	}
	return nil
}

// withKeys restores the declared merge keys of an element of a keyed list. The API server would reject it without them.
// A key that is declared as null or empty is sent as the API server's default of it: an apply merges lists before it
// sets defaults, so that it would take the element for another one than the live one, and keep both.
func withKeys(kind listKind, v, want any, n *node) any {
	element, ok := v.(map[string]any)
	declared, isMap := want.(map[string]any)
	if kind != keyedList || !ok || !isMap {
		return v
	}
	for _, k := range n.keys {
		if _, found := declared[k.field]; !found {
			continue
		}
		if value := k.of(declared); value != nil {
			element[k.field] = value
		}
	}
	return element
}

// Apply returns the body of Helm's server-side apply of the request: that of WithoutIgnored, with the additions of
// blank.
func (r Request) Apply(target, live map[string]any, opt Options, owned func(path []string) bool) map[string]any {
	body := WithoutIgnored(withNulls(r.Desired, r.Blank), target, live, opt, owned)
	unfold(body, r.Desired, r.Blank)
	return body
}
