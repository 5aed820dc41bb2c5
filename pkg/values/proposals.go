package values

import (
	"slices"
	"strings"

	"github.com/rancher/helm-locker/pkg/drift"
)

// mostMarkRenders bounds the renders with marked values for one field.
const mostMarkRenders = 80

// proposals calls propose with possible settings for a field, the most likely ones first, until it returns false.
func (f *finder) proposals(q Question, o object, only string, propose func([]Setting) bool) {
	keys, _ := f.reads.all(o.file)
	m := &marker{renderer: f.renderer, task: task{config: f.config, only: only}, object: o, present: f.present,
		left: mostMarkRenders}
	m.run(f.relevant(keys))
	p := proposer{f: f, q: q, object: o, propose: propose}
	for _, next := range []func() bool{
		func() bool { return p.seen(m.views) },
		func() bool { return p.around(m.views) },
		func() bool { return p.alike(m.unmarked) },
		func() bool { return p.read(keys) },
		func() bool { return p.flipped(keys) },
	} {
		if !next() {
			return
		}
	}
}

// relevant returns the paths of present values at, below or above one of the keys.
func (f *finder) relevant(keys [][]string) [][]string {
	all := leafKeys(f.present)
	// Values with templates inside read other values, which only their text shows.
	for _, path := range all {
		if value, _ := Get(f.present, path); usesTemplates(value) {
			return all
		}
	}
	return slices.DeleteFunc(all, func(path []string) bool {
		return !slices.ContainsFunc(keys, func(key []string) bool { return below(path, key) || below(key, path) })
	})
}

// proposer makes proposals for one field.
type proposer struct {
	f       *finder
	q       Question
	object  object
	propose func([]Setting) bool
}

// set returns the Setting of a value.
func (p *proposer) set(path []string, wanted any) Setting {
	return setting(p.f.present, p.f.global(path), wanted)
}

// global returns the path of a global value in place of its copy in a sub-chart.
func (f *finder) global(path []string) []string {
	i := slices.Index(path, "global")
	if i <= 0 {
		return path
	}
	if _, found := Get(f.present, path[i:]); found {
		return path[i:]
	}
	return path
}

// seen proposes the values with marks in the field.
func (p *proposer) seen(views []view) bool {
	pointer := drift.Pointer(p.q.Path...)
	for _, v := range views {
		leaf, found := v.leaves[pointer]
		if !found {
			continue
		}
		marked, _ := text(leaf)
		wanted, scalar := text(p.q.Wanted)
		if plain, ok := v.decoded(marked); ok {
			if wantedPlain, ok := decodedWanted(wanted); ok {
				marked, wanted = plain, wantedPlain
			}
		}
		for i, m := range v.marks {
			if !scalar {
				if marked == m.sign && !p.propose([]Setting{p.set(m.path, p.q.Wanted)}) {
					return false
				}
				continue
			}
			if value, ok := v.solve(marked, wanted, i); ok && !p.typed(m.path, value, marked == m.sign) {
				return false
			}
		}
		if scalar && !p.several(v, v.solveAll(marked, wanted)) {
			return false
		}
	}
	return true
}

// typed proposes a text as a value, in each possible type.
func (p *proposer) typed(path []string, value string, whole bool) bool {
	present, _ := Get(p.f.present, path)
	if !p.propose([]Setting{p.set(path, converted(value, present))}) {
		return false
	}
	if whole && !p.propose([]Setting{p.set(path, p.q.Wanted)}) {
		return false
	}
	return p.propose([]Setting{p.set(path, value)})
}

// several proposes the values of several marks at once. Some may be unchanged.
func (p *proposer) several(v view, values map[int]string) bool {
	var settings []Setting
	for i, value := range values {
		present, _ := Get(p.f.present, v.marks[i].path)
		if s := p.set(v.marks[i].path, converted(value, present)); !same(s.Present, s.Wanted) {
			settings = append(settings, s)
		}
	}
	if len(settings) == 0 {
		return true
	}
	slices.SortFunc(settings, func(a, b Setting) int { return slices.Compare(a.Key, b.Key) })
	return p.propose(settings)
}

// around proposes maps and lists that contain the field or are part of it: their marks are in fields beside it or below
// it.
func (p *proposer) around(views []view) bool {
	for depth := len(p.q.Path); depth > 0; depth-- {
		at := p.q.Path[:depth]
		for _, v := range views {
			for pointer, leaf := range v.leaves {
				path := segments(pointer)
				if !below(path, at) || len(path) == depth {
					continue
				}
				marked, _ := text(leaf)
				for _, m := range v.marks {
					rest := path[depth:]
					split := len(m.path) - len(rest)
					if marked != m.sign || split <= 0 || !slices.Equal(m.path[split:], rest) {
						continue
					}
					root := m.path[:split]
					if !p.propose([]Setting{p.set(append(slices.Clone(root), p.q.Path[depth:]...), p.q.Wanted)}) {
						return false
					}
				}
			}
		}
	}
	return true
}

// alike proposes values without a mark that are equal to the field.
func (p *proposer) alike(paths [][]string) bool {
	now, _ := Get(p.object.Content, p.q.Path)
	was, ok := text(now)
	if !ok {
		return true
	}
	p.order(paths)
	for _, path := range paths {
		value, _ := Get(p.f.present, path)
		if printed, ok := text(value); ok && printed == was && !p.propose([]Setting{p.set(path, p.q.Wanted)}) {
			return false
		}
	}
	return true
}

// read proposes unset or empty values that the templates read: the field itself, or maps around it.
func (p *proposer) read(keys [][]string) bool {
	keys = p.unique(keys)
	for depth := len(p.q.Path); depth > 0; depth-- {
		rest := p.q.Path[depth:]
		for _, key := range keys {
			if !alike(key[len(key)-1], p.q.Path[depth-1]) {
				continue
			}
			now, found := Get(p.f.present, append(slices.Clone(key), rest...))
			if _, scalar := text(now); found && scalar && now != "" && len(rest) > 0 {
				continue
			}
			if !p.propose([]Setting{p.set(append(slices.Clone(key), rest...), p.q.Wanted)}) {
				return false
			}
		}
	}
	part := p.part()
	for _, key := range keys {
		if now, _ := Get(p.f.present, key); now != nil {
			continue
		}
		if !p.propose([]Setting{p.set(key, p.q.Wanted)}) || part != "" && !p.propose([]Setting{p.set(key, part)}) {
			return false
		}
	}
	return true
}

// separators divide the parts of a text that is made of several values.
const separators = ":/@,; =\n"

// part returns the part of the wanted text, between separators, that differs from the present one; empty for none.
func (p *proposer) part() string {
	now, _ := Get(p.object.Content, p.q.Path)
	was, isText := now.(string)
	wanted, ok := p.q.Wanted.(string)
	if !isText || !ok {
		return ""
	}
	first, last := 0, 0 // the parts begin and end with a separator that both texts share
	for i := 0; i < min(len(was), len(wanted)) && was[i] == wanted[i]; i++ {
		if strings.IndexByte(separators, wanted[i]) >= 0 {
			first = i + 1
		}
	}
	for i := 1; i <= min(len(was), len(wanted))-first && was[len(was)-i] == wanted[len(wanted)-i]; i++ {
		if strings.IndexByte(separators, wanted[len(wanted)-i]) >= 0 {
			last = i
		}
	}
	if first+last == 0 {
		return ""
	}
	return wanted[first : len(wanted)-last]
}

// flipped proposes the opposite of booleans.
func (p *proposer) flipped(keys [][]string) bool {
	paths := p.f.relevant(keys)
	p.order(paths)
	for _, path := range paths {
		value, _ := Get(p.f.present, path)
		if on, ok := value.(bool); ok && !p.propose([]Setting{p.set(path, !on)}) {
			return false
		}
	}
	return true
}

// order sorts paths by their likeness to the path of the field.
func (p *proposer) order(paths [][]string) {
	slices.SortStableFunc(paths, func(a, b []string) int { return p.likeness(b) - p.likeness(a) })
}

// likeness counts the keys that occur in the path of the field. The last one counts three times.
func (p *proposer) likeness(path []string) int {
	n := 0
	for i, key := range path {
		if slices.ContainsFunc(p.q.Path, func(segment string) bool { return alike(key, segment) }) {
			n++
			if i == len(path)-1 && alike(key, p.q.Path[len(p.q.Path)-1]) {
				n += 2
			}
		}
	}
	return n
}

// unique returns the keys once each, the most alike first, without the empty key.
func (p *proposer) unique(keys [][]string) [][]string {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key []string) bool { return len(key) == 0 })
	slices.SortFunc(keys, slices.Compare)
	keys = slices.CompactFunc(keys, slices.Equal)
	p.order(keys)
	return keys
}

// alike reports whether two names are the same, or one ends in the other: podAnnotations and annotations.
func alike(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || len(b) > 3 && (strings.HasSuffix(a, b) || strings.HasPrefix(a, b))
}
