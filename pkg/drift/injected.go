package drift

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// This file is about list elements that a mutating webhook injects, in scope Strict: undeclared elements of lists
// merged by key without a foreign author, such as a container or a variable. The API server records no owner of an
// injected value, so a foreign owner of any part of it is the trace of a change. A removed field leaves no trace, so
// the content of each element is learnt, too. The value before the change is unknown: the element has to be removed as
// a whole, for the webhook to inject it again. Only a dry run shows that the webhook does so. See Options.Accepted, and
// judge.Input.AfterDryRun.

// injectedMark precedes the hash of the merge keys of an injected element in a Baseline. "~=" cannot occur in a
// pointer.
const injectedMark = "~="

func isInjected(key string) bool { return strings.Contains(key, "/"+injectedMark) }

// Injected returns the entries of a baseline for the content of injected list elements.
func (b Baseline) Injected() Baseline {
	only := Baseline{}
	for key, hash := range b {
		if isInjected(key) {
			only[key] = hash
		}
	}
	return only
}

// WithoutInjected returns the other entries of a baseline. Against these, an injected element has changed only if a
// foreign manager owns a part of it.
func (b Baseline) WithoutInjected() Baseline {
	rest := maps.Clone(b)
	maps.DeleteFunc(rest, func(key string, _ uint64) bool { return isInjected(key) })
	return rest
}

// injectedFinder finds the injected elements of an object. The embedded stripper collects the changed ones.
type injectedFinder struct {
	stripper
	strict *Strict
	live   map[string]any
	owned  *place   // by foreign managers; nil when that was not needed yet
	learnt Baseline // when set, the content of every element goes here, and no element has changed
}

// object returns p.have without the changed elements.
func (f *injectedFinder) object(p pair[map[string]any], n *node) (map[string]any, bool) {
	m := mapMerge{live: p.have, target: p.have}
	if n == nil || n.exact {
		return p.have, false
	}
	for name, have := range p.have {
		if have == nil || f.c.outside(name) {
			continue
		}
		f.c.push(name)
		if !f.c.ignored() && !f.stays(have) {
			if v, changed := f.value(pair[any]{p.want[name], have, p.live[name]}, n.field(name)); changed {
				m.set(name, v)
			}
		}
		f.c.pop()
	}
	return m.target, m.changed
}

func (f *injectedFinder) value(p pair[any], n *node) (any, bool) {
	switch have := p.have.(type) {
	case map[string]any:
		want, declared := p.want.(map[string]any)
		live, ok := p.live.(map[string]any)
		if !ok || !declared {
			return nil, false
		}
		if v, changed := f.object(pair[map[string]any]{want, have, live}, n); changed {
			return v, true
		}
	case []any:
		want, declared := p.want.([]any)
		live, ok := p.live.([]any)
		if !ok || !declared && p.want != nil || n == nil || n.list != keyedList {
			return nil, false
		}
		if v, changed := f.list(pair[[]any]{want, have, live}, n); changed {
			return v, true
		}
	}
	return nil, false
}

func (f *injectedFinder) list(p pair[[]any], n *node) ([]any, bool) {
	target, changed := p.have, false
	for _, e := range p.have {
		element, isMap := e.(map[string]any)
		if !isMap || count(p.have, element, n) != 1 || count(p.live, element, n) != 1 || count(p.want, element, n) > 1 {
			continue // of several with one key it is not known which one is meant
		}
		at := func(l any) bool { return n.isSame(element, l) }
		j := slices.IndexFunc(p.live, at)
		if i := n.declarationOf(p.want, e); i >= 0 {
			if v, differs := f.inside(i, pair[any]{p.want[i], e, p.live[j]}, n); differs {
				target, changed = slices.Clone(target), true
				target[slices.IndexFunc(target, at)] = v
			}
			continue
		}
		// A declared list with two elements of one key is compared and learnt as a whole.
		if f.c.kindOf(p.want, n) == keyedList && f.changed(j, p.live[j], element, n) {
			target, changed = slices.DeleteFunc(slices.Clone(target), at), true
		}
	}
	return target, changed
}

// inside searches the live element of desired element i.
func (f *injectedFinder) inside(i int, p pair[any], n *node) (any, bool) {
	f.c.push(strconv.Itoa(i))
	defer f.c.pop()
	if f.c.ignored() {
		return nil, false
	}
	return f.value(p, n.elem)
}

// changed decides about the undeclared live element j of the list at the current path.
func (f *injectedFinder) changed(j int, live any, element map[string]any, n *node) bool {
	f.c.push(strconv.Itoa(j))
	defer f.c.pop()
	if f.c.ignored() || f.stays(live) {
		return false
	}
	list := Pointer(f.c.path[:len(f.c.path)-1]...)
	text, _ := keyText(element, n.keys)
	key := list + "/" + injectedMark + hexOf(text)
	if f.learnt != nil {
		f.learnt[key] = fingerprint(live)
		return false
	}
	if _, known := f.c.accepted[key]; !known && !f.isTouched() {
		return false
	}
	return f.record(Added, key, live)
}

// isTouched reports whether a foreign manager owns a part of the live element at the current path, and not the element
// itself. An element of a foreign manager was not injected.
func (f *injectedFinder) isTouched() bool {
	if f.owned == nil {
		foreign := f.strict.foreign(f.strict.helm())
		if foreign == nil {
			foreign = &fieldpath.Set{}
		}
		root := rootOf(foreign, f.desired, f.live)
		f.owned = &root
	}
	at := *f.owned
	for i, segment := range f.c.path {
		if i == len(f.c.path)-1 {
			at.want = nil // the last index is one of the live list
		}
		if at, _ = at.down(segment); at.nothing() {
			return false
		}
	}
	return !at.itself
}

// injected returns target without the injected elements that changed, and these.
func (s *Strict) injected(desired, target, live map[string]any, opt Options) (map[string]any, []addition) {
	f := s.injectedFinder(desired, live, opt)
	target, _ = f.object(pair[map[string]any]{desired, target, live}, opt.Schema.root)
	return target, f.additions
}

// learnInjected records the content of the injected elements in learnt.
func (s *Strict) learnInjected(desired, live map[string]any, opt Options, learnt Baseline) {
	f := s.injectedFinder(desired, live, opt)
	f.learnt = learnt
	f.object(pair[map[string]any]{desired, live, live}, opt.Schema.root)
}

func (s *Strict) injectedFinder(desired, live map[string]any, opt Options) *injectedFinder {
	c := newCursor(opt)
	return &injectedFinder{
		stripper: stripper{c: &c, desired: desired, kept: keptFieldsOf(desired)}, strict: s, live: live,
	}
}
