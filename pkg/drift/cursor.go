package drift

// cursor is a position in a desired object, with the rules of the comparison for it: every walk over an object has one.
type cursor struct {
	ignore   func([]string) bool
	accepted Baseline
	path     []string
	buf      []byte // scratch for pointers
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

// accepts reports whether the value at the current path is the learnt one.
func (c *cursor) accepts(seen func() uint64) bool {
	if len(c.accepted) == 0 {
		return false
	}
	c.buf = appendPointer(c.buf[:0], c.path)
	learnt, ok := c.accepted[string(c.buf)]
	return ok && learnt == seen()
}

// acceptsAt is accepts for a child of the current path.
func (c *cursor) acceptsAt(segment string, seen func() uint64) bool {
	if len(c.accepted) == 0 {
		return false
	}
	c.buf = append(append(appendPointer(c.buf[:0], c.path), '/'), segment...)
	learnt, ok := c.accepted[string(c.buf)]
	return ok && learnt == seen()
}

// additionKey is the key in a Baseline of the undeclared field at the current path.
func (c *cursor) additionKey() string {
	return string(append(appendPointer(nil, c.path), additionSuffix...))
}

// acceptsAddition reports whether the undeclared field at the current path was learnt.
func (c *cursor) acceptsAddition(have any) bool {
	if len(c.accepted) == 0 {
		return false
	}
	c.buf = append(appendPointer(c.buf[:0], c.path), additionSuffix...)
	learnt, ok := c.accepted[string(c.buf)]
	return ok && learnt == fingerprint(have)
}
