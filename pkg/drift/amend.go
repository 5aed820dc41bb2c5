package drift

import (
	"maps"
	"slices"
	"strings"
)

// Overtaken is a write of ours that may have been applied after Helm began to work on a newer revision.
type Overtaken struct {
	// Old is the written desired state, that of the older revision.
	Old map[string]any
	// Undo is the JSON merge patch from the state after the write to the state before it.
	Undo map[string]any
}

// Amendment holds the changes that keep a write of ours from taking anything away from a newer revision.
type Amendment struct {
	Result
	// Desired is Old with the changes made, and Options ignore everything else: together they define the apply.
	Desired map[string]any
	Options Options
}

// Amend returns the departures of the write from the newer revision, which declares desired: live still has the written
// value, and had the desired one before the write. Helm may have seen the earlier state, and so may have written
// nothing. Later changes of others stay, and so do fields ignored by opt.Ignore. Paths are those of desired.
func (w Overtaken) Amend(desired, live map[string]any, opt Options) Amendment {
	opt.Accepted, opt.Strict = nil, nil
	ours := newPaths(Compare(desired, live, opt).Changes)
	since := opt
	since.Accepted = Learn(desired, w.Old, opt)
	ours.remove(Compare(desired, live, since).Changes)
	ours.remove(Compare(desired, mergePatched(w.Old, w.Undo), opt).Changes)
	narrow := opt
	narrow.Ignore = func(path []string) bool { return !ours.touch(path) || opt.Ignore != nil && opt.Ignore(path) }
	a := Amendment{Options: narrow, Desired: w.Old}
	if len(ours.at) > 0 {
		a.Result = Compare(desired, live, narrow)
		if mixed := Compare(desired, w.Old, narrow).Target; mixed != nil {
			a.Desired = mixed
		}
	}
	for _, path := range w.added(nil, w.Old, w.Undo, desired, live) {
		if opt.Ignore != nil && opt.Ignore(path) {
			continue
		}
		if a.Target == nil {
			a.Target = live
		}
		a.Changes = append(a.Changes, Change{Path: Pointer(path...), Op: Added})
		a.Target, a.Desired = without(a.Target, path), without(a.Desired, path)
	}
	return a
}

// added returns the paths of undeclared keys that the write added and live still holds unchanged.
func (w Overtaken) added(at []string, old, undo, desired, live map[string]any) (paths [][]string) {
	for key, wrote := range old {
		have, exists := live[key]
		before, differed := undo[key]
		want, declared := desired[key]
		path := slices.Concat(at, []string{key})
		switch {
		case !exists:
		case declared:
			paths = append(paths, w.added(path, mapOf(wrote), mapOf(before), mapOf(want), mapOf(have))...)
		case differed && before == nil && deepEqual(wrote, have):
			paths = append(paths, path)
		}
	}
	return paths
}

func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// without returns an object without the value at a path. It shares the unchanged parts with object, and does not change
// it.
func without(object map[string]any, path []string) map[string]any {
	object = maps.Clone(object)
	if len(path) == 1 {
		delete(object, path[0])
		return object
	}
	if inner, ok := object[path[0]].(map[string]any); ok {
		object[path[0]] = without(inner, path[1:])
	}
	return object
}

// mergePatched returns an object after a JSON merge patch. It shares memory with both.
func mergePatched(object, patch map[string]any) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			out[key] = mergePatched(mapOf(out[key]), v)
		default:
			out[key] = v
		}
	}
	return out
}

// paths are the places of changes.
type paths struct {
	at    map[string]struct{} // pointers
	above map[string]struct{} // pointers of all that holds one of them
}

func newPaths(changes []Change) *paths {
	p := &paths{at: map[string]struct{}{}}
	for _, c := range changes {
		p.at[c.Path] = struct{}{}
	}
	return p
}

// remove removes the paths of changes. A missing map or element removes the paths below it, too.
func (p *paths) remove(changes []Change) {
	missing := newPaths(nil)
	for _, c := range changes {
		delete(p.at, c.Path)
		if c.Op == Removed {
			missing.at[c.Path] = struct{}{}
		}
	}
	maps.DeleteFunc(p.at, func(pointer string, _ struct{}) bool { return missing.cover(pointer) })
	p.above = map[string]struct{}{}
	for pointer := range p.at {
		for i := range pointer {
			if pointer[i] == '/' {
				p.above[pointer[:i]] = struct{}{}
			}
		}
	}
}

// touch reports whether a path is one of the places, holds one, or is part of one.
func (p *paths) touch(path []string) bool {
	pointer := Pointer(path...)
	if _, ok := p.above[pointer]; ok {
		return true
	}
	return p.cover(pointer)
}

// cover reports whether a pointer is one of the places, or part of one.
func (p *paths) cover(pointer string) bool {
	for end := len(pointer); end >= 0; end = strings.LastIndexByte(pointer[:end], '/') {
		if _, ok := p.at[pointer[:end]]; ok {
			return true
		}
	}
	return false
}
