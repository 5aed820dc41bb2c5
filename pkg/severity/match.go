package severity

import (
	"path"
	"slices"
	"strings"
)

// relation is how a rule's path and that of a change relate.
type relation int

const (
	another relation = iota
	aPart            // the rule is about a part of the changed value
	itself           // the rule is about the changed value, or about something above it
)

// anyDepth is a segment for any number of segments.
const anyDepth = "**"

// about returns the relation of a rule to a change.
func (r *Rule) about(o Object, change []string) relation {
	if len(r.Kinds) > 0 && !slices.ContainsFunc(r.Kinds, o.is) || len(r.Kinds) == 0 && len(change) == 0 {
		return another
	}
	best := another
	for _, pattern := range r.segments {
		best = max(best, compare(pattern, change, false))
	}
	return best
}

// is reports whether a pattern names the kind.
func (o Object) is(pattern string) bool {
	name := o.Kind
	if strings.Contains(pattern, ".") {
		name += "." + o.Group
	}
	matches, err := path.Match(pattern, name) // checked by Read
	return err == nil && matches
}

// compare returns the relation of a rule's path to that of a change. skipped is set right after a part of the change
// was taken for anyDepth: what lies below is not known, and the rule is not about it.
func compare(pattern, change []string, skipped bool) relation {
	switch {
	case len(pattern) == 0:
		return itself
	case len(change) == 0 && skipped:
		return another
	case len(change) == 0:
		return aPart
	case pattern[0] == anyDepth:
		return max(compare(pattern[1:], change, true), compare(pattern, change[1:], true))
	case pattern[0] == "*" || pattern[0] == change[0]:
		return compare(pattern[1:], change[1:], false)
	}
	return another
}
