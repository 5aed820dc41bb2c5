package severity

import (
	_ "embed" // the built-in table
	"fmt"
	"path"
	"slices"
	"strings"
)

// Level is the severity of a change.
type Level string

// The levels.
const (
	Low    Level = "low"
	Medium Level = "medium"
	High   Level = "high"
)

var levels = []Level{Low, Medium, High}

// Levels returns the names of the levels, the lowest first.
func Levels() []string { return []string{string(Low), string(Medium), string(High)} }

// AtLeast reports whether a level is another one or above it.
func (l Level) AtLeast(other Level) bool {
	return slices.Index(levels, l) >= slices.Index(levels, other)
}

// Check returns an error for a level that does not exist.
func (l Level) Check() error {
	if !slices.Contains(levels, l) {
		return fmt.Errorf("severity %q is none of %s", l, strings.Join(Levels(), ", "))
	}
	return nil
}

// Rule gives a level to fields.
type Rule struct {
	Severity Level  `json:"severity"`
	Reason   string `json:"reason,omitempty"`
	// Kinds are KIND or KIND.GROUP, in which * is any text; every kind if there are none.
	Kinds []string `json:"kinds,omitempty"`
	// Paths are JSON pointers with * for any segment and ** for any number of segments. Each stands for the field and
	// all below it.
	Paths []string `json:"paths"`

	segments [][]string // of Paths
}

// Object is the kind of an object.
type Object struct{ Group, Kind string }

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
