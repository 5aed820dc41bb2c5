package drift

import (
	"maps"
)

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
	for key := range desired {
		if c.outside(key) || c.ignoredAt(key) {
			continue
		}
		c.mergeField(&m, desired, key, n)
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

// mergeField restores the declared field key of a map.
func (c *comparer) mergeField(m *mapMerge, desired map[string]any, key string, n *node) {
	want := desired[key]
	have, there := m.live[key]
	var rivals []string
	if want != nil {
		rivals = c.rivals(n, key, have != nil, desired, m.live)
	}
	var v any
	var changed bool
	c.push(key)
	switch {
	case want == nil:
		v, changed = c.mergeNull(have, there)
	case have != nil:
		v, changed = c.mergeValue(want, have, n.field(key))
	default:
		v, changed = c.mergeMissing(want, rivals, n.field(key))
	}
	c.pop()
	if !changed {
		return
	}
	m.set(key, v)
	for _, r := range rivals {
		delete(m.target, r)
		c.reportAdded(r)
	}
}

// mergeMissing restores a declared value that the live object lacks.
func (c *comparer) mergeMissing(want any, rivals []string, n *node) (any, bool) {
	if len(rivals) == 0 && sameAsAbsent(want, n) {
		return nil, false
	}
	v, needed := c.withoutIgnored(want)
	return v, (needed || len(rivals) > 0) && c.departs(Removed, absent(rivals))
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
	if !c.departs(Modified, have) {
		return have, false
	}
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

// isExtra reports whether a map compared as a whole has an undeclared key that is no default of the server.
func (c *comparer) isExtra(desired map[string]any, key string, have any, n *node) bool {
	if _, declared := desired[key]; declared || have == nil || c.ignoredAt(key) {
		return false
	}
	if n.object != nil {
		if byServer, ok := n.object.defaults[key]; ok && deepEqual(byServer, have) {
			return false
		}
	}
	c.push(key)
	defer c.pop()
	return !c.accepts(additionSuffix, have)
}

// dropExtra removes the undeclared keys from a map compared as a whole.
func (c *comparer) dropExtra(m *mapMerge, desired map[string]any, n *node) {
	for key, have := range m.live {
		if !c.isExtra(desired, key, have, n) {
			continue
		}
		m.own()
		delete(m.target, key)
		c.push(key)
		c.report(Added) // a server-side apply replaces such a map as a whole, so nothing of it counts as foreign
		c.learn(additionSuffix, have)
		c.pop()
	}
}
