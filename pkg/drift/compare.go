package drift

import "maps"

// comparer is one comparison. Its merge methods find the changes and build the target.
type comparer struct {
	recorder
	complete bool // see Schema
	tries    int  // searches for the partner of an element so far, see maxTries
}

func newComparer(opt Options) comparer {
	return comparer{recorder: recorder{cursor: newCursor(opt), adopted: opt.Adopted}, complete: opt.Schema.complete}
}

// equal reports whether a live value, at the current path, has all declared content. It stops at the first change.
func (c *comparer) equal(want, have any, n *node) bool {
	before := c.asking
	c.asking = true
	_, changed := c.mergeValue(want, have, n)
	c.asking = before
	return !changed
}

// mergeMap reports the changes below the current path and returns live with them reverted, or live itself.
func (c *comparer) mergeMap(desired, live map[string]any, n *node) (map[string]any, bool) {
	m := mapMerge{live: live, target: live}
	for key, want := range desired {
		if len(c.path) < 2 && c.outside(key) {
			continue
		}
		c.push(key)
		if !c.ignored() {
			c.mergeField(&m, desired, key, want, n)
		}
		c.pop()
		if c.asking && m.changed {
			return live, true
		}
	}
	if n != nil && (n.exact || n.oneWriter && m.changed) {
		c.dropExtra(&m, desired, n)
	}
	return m.target, m.changed
}

// mapMerge is a copy-on-write map: it copies live at the first change.
type mapMerge struct {
	live, target map[string]any
	changed      bool
}

func (m *mapMerge) own() {
	if !m.changed {
		m.changed = true
		if m.target = maps.Clone(m.live); m.target == nil {
			m.target = map[string]any{}
		}
	}
}

func (m *mapMerge) set(key string, v any) {
	m.own()
	m.target[key] = v
}

func (c *comparer) mergeField(m *mapMerge, desired map[string]any, key string, want any, n *node) {
	if want == nil {
		c.mergeNull(m, key)
		return
	}
	have := m.live[key]
	if have != nil {
		if v, changed := c.mergeValue(want, have, n.field(key)); changed {
			m.set(key, v)
			c.dropRivals(m, c.rivalsOf(n, key, true, desired, m.live))
		}
		return
	}
	rivals := c.rivalsOf(n, key, false, desired, m.live)
	if len(rivals) == 0 && sameAsAbsent(want, n.field(key)) {
		return
	}
	v, needed := c.withoutIgnored(want)
	if !needed && len(rivals) == 0 {
		return
	}
	seen := func() uint64 { return fingerprintAbsent(rivals) }
	if c.accepts(seen) {
		return
	}
	c.report(Removed, seen)
	m.set(key, v)
	c.dropRivals(m, rivals)
}

// rivalsOf is rivals for the field at the current path among its siblings.
func (c *comparer) rivalsOf(n *node, key string, changed bool, desired, live map[string]any) []string {
	c.pop()
	found := c.rivals(n, key, changed, desired, live)
	c.push(key)
	return found
}

// dropRivals removes the rivals, siblings of the current path, from the target.
func (c *comparer) dropRivals(m *mapMerge, rivals []string) {
	if len(rivals) == 0 {
		return
	}
	m.own()
	last := c.path[len(c.path)-1]
	c.pop()
	for _, r := range rivals {
		delete(m.target, r)
		c.reportAdded(r)
	}
	c.push(last)
}

func (c *comparer) mergeValue(want, have any, n *node) (any, bool) {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			return c.mergeMap(w, h, n)
		}
	case []any:
		if h, ok := have.([]any); ok {
			return c.mergeList(w, h, n)
		}
	default:
		if scalarEqual(want, have) {
			return have, false
		}
	}
	seen := func() uint64 { return fingerprint(have) }
	if c.accepts(seen) {
		return have, false
	}
	if c.asking {
		return have, true
	}
	c.report(Modified, seen)
	return deepCopy(want), true
}

// withoutIgnored returns a copy of a declared value that the live object lacks, without the ignored fields. It also
// reports whether there is anything left to restore.
func (c *cursor) withoutIgnored(want any) (any, bool) {
	declared, ok := want.(map[string]any)
	if !ok || c.ignore == nil {
		return deepCopy(want), true
	}
	kept := make(map[string]any, len(declared))
	for key, v := range declared {
		c.push(key)
		if !c.ignored() {
			if v, needed := c.withoutIgnored(v); needed {
				kept[key] = v
			}
		}
		c.pop()
	}
	return kept, len(kept) > 0 || len(declared) == 0
}
