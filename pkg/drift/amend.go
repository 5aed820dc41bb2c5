package drift

import (
	"maps"
	"slices"
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
	since := opt
	since.Accepted = Learn(desired, w.Old, opt)
	others := Compare(desired, live, since).Changes
	others = append(others, Compare(desired, mergePatched(w.Old, w.Undo), opt).Changes...)
	ours := tree{}
	for _, c := range unexplained(Compare(desired, live, opt).Changes, others) {
		ours.add(c.Segments())
	}
	ignored := func(path []string) bool { return opt.Ignore != nil && opt.Ignore(path) }
	narrow := opt
	narrow.Ignore = func(path []string) bool {
		_, touched := ours.covers(path)
		return !touched || ignored(path)
	}
	a := Amendment{Options: narrow, Desired: w.Old}
	if len(ours) > 0 {
		a.Result = Compare(desired, live, narrow)
		if mixed := Compare(desired, w.Old, narrow).Target; mixed != nil {
			a.Desired = mixed
		}
	}
	added := tree{}
	for _, path := range w.added(nil, w.Old, w.Undo, desired, live) {
		if !ignored(path) {
			a.Changes = append(a.Changes, Change{Path: Pointer(path...), Op: Added})
			added.add(path)
		}
	}
	if len(added) > 0 {
		if a.Target == nil {
			a.Target = live
		}
		a.Target, a.Desired = mapOf(added.cut(a.Target)), mapOf(added.cut(a.Desired))
	}
	return a
}

// unexplained returns the changes without those at the paths of others, and those below a map or an element that is
// missing by these.
func unexplained(changes, others []Change) []Change {
	at, missing := map[string]bool{}, tree{}
	for _, c := range others {
		at[c.Path] = true
		if c.Op == Removed {
			missing.add(c.Segments())
		}
	}
	return slices.DeleteFunc(changes, func(c Change) bool {
		covered, _ := missing.covers(c.Segments())
		return covered || at[c.Path]
	})
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
