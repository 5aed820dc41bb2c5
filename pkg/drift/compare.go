package drift

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

// mergeNull restores the field at the current path, declared as null, to its learnt value.
func (c *comparer) mergeNull(have any, there bool) (any, bool) {
	if len(c.accepted) == 0 {
		return nil, false
	}
	learnt, kept := c.accepted[Pointer(c.path...)+nullSuffix]
	if !kept || there && learnt == fingerprint(have) {
		return nil, false
	}
	op := Modified
	if have == nil {
		op = Removed
	}
	c.report(op)
	if learnt == fingerprint("") {
		return "", true
	}
	return nil, true
}
