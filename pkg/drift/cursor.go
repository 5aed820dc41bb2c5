package drift

import (
	"slices"
)

// cursor is a position in a desired object, with the rules of the comparison for it: every walk over an object has one.
type cursor struct {
	ignore   func([]string) bool
	accepted Baseline
	path     []string
}

func newCursor(opt Options) cursor {
	return cursor{ignore: opt.Ignore, accepted: opt.Accepted, path: make([]string, 0, 16)}
}

func (c *cursor) push(segment string) { c.path = append(c.path, segment) }
func (c *cursor) pop()                { c.path = c.path[:len(c.path)-1] }

// ignored reports whether the current path is out of bounds.
func (c *cursor) ignored() bool { return c.ignore != nil && c.ignore(c.path) }

// ignoredAt is ignored for a child of the current path.
func (c *cursor) ignoredAt(segment string) bool {
	if c.ignore == nil {
		return false
	}
	c.push(segment)
	defer c.pop()
	return c.ignore(c.path)
}

// outside reports whether a key at the current path is never compared: the object's identity, and the metadata that the
// server owns.
func (c *cursor) outside(key string) bool {
	switch len(c.path) {
	case 0:
		return key == "apiVersion" || key == "kind" || key == "status"
	case 1:
		if c.path[0] != "metadata" {
			return false
		}
		switch key {
		case "name", "namespace", "generateName", "uid", "resourceVersion", "generation", "managedFields",
			"selfLink", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds":
			return true
		}
	}
	return false
}

// accepts reports whether a value is the learnt one. Its key in a Baseline is the pointer to the current path, followed
// by suffix.
func (c *cursor) accepts(suffix string, have any) bool {
	if len(c.accepted) == 0 {
		return false
	}
	learnt, ok := c.accepted[Pointer(c.path...)+suffix]
	return ok && learnt == fingerprint(have)
}

// rivals returns the fields of live that others set although they exclude the declared field key. With changed set, key
// exists with another value, and only the fields that depend on it as a discriminator are rivals.
func (c *cursor) rivals(n *node, key string, changed bool, desired, live map[string]any) []string {
	if n == nil || n.object == nil || len(n.object.unions) == 0 {
		return nil
	}
	var found []string
	for _, u := range n.object.unions {
		if u.discriminator != key && (changed || !slices.Contains(u.members, key)) {
			continue
		}
		for _, m := range u.members {
			if _, declared := desired[m]; declared || live[m] == nil || c.ignoredAt(m) {
				continue
			}
			found = append(found, m)
		}
	}
	return found
}

// kindOf returns the list kind of the schema, or atomic if the manifest does not fit it.
func (c *cursor) kindOf(want []any, n *node) listKind {
	switch {
	case n == nil:
		return atomicList
	case n.list == keyedList && haveUniqueKeys(want, n.keys), n.list == setList && noMaps(want):
		return n.list
	case n.list == setList && n.elem != nil && n.elem.exact && allMaps(want):
		return setList
	}
	return atomicList
}
