package drift

// This file compares maps as a whole: the atomic maps of custom resources, and those in exact_kinds.go.

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
	return !c.acceptsAddition(have)
}

// dropExtra removes the undeclared keys from a map compared as a whole.
func (c *comparer) dropExtra(m *mapMerge, desired map[string]any, n *node) {
	for key, have := range m.live {
		if !c.isExtra(desired, key, have, n) {
			continue
		}
		m.own()
		delete(m.target, key)
		if c.silent() {
			continue
		}
		c.push(key)
		// A server-side apply replaces such a map as a whole, so nothing of it counts as foreign.
		c.changes = append(c.changes, Change{Path: Pointer(c.path...), Op: Added})
		if c.learnt != nil {
			c.learnt[c.additionKey()] = fingerprint(have)
		}
		c.pop()
	}
}
