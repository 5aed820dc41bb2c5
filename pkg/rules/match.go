package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/plain"
)

// Bounds of the status of one object.
const (
	maxPaths       = 10
	maxDescription = 500 // bytes
)

// path is a parsed pointer.
type path []string

// rule is one IgnoreRule. It has paths, managers or deletion.
type rule struct {
	deletion bool
	target   target
	paths    []path
	pointers []string // paths as they were written
	managers []string // globs
}

// target selects objects. A nil field selects all.
type target struct {
	group, version, kind, name, namespace *regexp.Regexp
	labels, annotations                   labels.Selector
}

// AnySegment is the segment of a path that stands for every key or index.
const AnySegment = "*"

// Matcher holds the rules for one object. It is immutable. A nil Matcher ignores nothing.
type Matcher struct {
	whole    bool
	deletion bool
	paths    []path   // of rules without managers
	pointers []string // of all rules, as written
	owned    []ownedRule
}

// ownedRule is a rule with managers. Without paths it covers every field.
type ownedRule struct {
	paths    []path
	pointers []string
	managers []string
}

func (m *Matcher) add(r *rule) {
	m.deletion = m.deletion || r.deletion
	everything := slices.ContainsFunc(r.paths, func(p path) bool { return len(p) == 0 })
	for _, pointer := range r.pointers {
		if pointer != "" && !slices.Contains(m.pointers, pointer) {
			m.pointers = append(m.pointers, pointer)
		}
	}
	switch {
	case len(r.managers) == 0:
		m.whole = m.whole || everything
		m.paths = append(m.paths, r.paths...)
	case everything:
		m.owned = append(m.owned, ownedRule{managers: r.managers})
	default:
		m.owned = append(m.owned, ownedRule{paths: r.paths, pointers: r.pointers, managers: r.managers})
	}
}

// Whole reports whether the object is exempt altogether, its deletion included.
func (m *Matcher) Whole() bool { return m != nil && m.whole }

// Deletion reports whether a deleted object stays deleted.
func (m *Matcher) Deletion() bool { return m != nil && (m.whole || m.deletion) }

// NeedsOwnership reports whether Bind needs the owners of the live object's fields.
func (m *Matcher) NeedsOwnership() bool { return m != nil && !m.whole && len(m.owned) > 0 }

// Bind returns the function for drift.Options.Ignore, or nil if it would ignore nothing. own is that of the live
// object, with the desired one of the comparison. It may be nil, and then rules with managers ignore nothing.
//
// The function ignores everything below an ignored path, too.
func (m *Matcher) Bind(own *drift.Ownership) func(path []string) bool {
	switch {
	case m == nil, !m.whole && len(m.paths) == 0 && (own == nil || len(m.owned) == 0):
		return nil
	case m.whole:
		return func([]string) bool { return true }
	case own == nil || len(m.owned) == 0:
		return func(at []string) bool { return covers(m.paths, at) }
	}
	return func(at []string) bool {
		return covers(m.paths, at) || slices.ContainsFunc(m.owned, func(r ownedRule) bool {
			return (len(r.paths) == 0 || covers(r.paths, at)) && own.Owned(at, r.names)
		})
	}
}

// Keeps reports whether all fields of the manager stay: whether a rule without paths names it. In scope Strict that is
// the allow-list.
func (m *Matcher) Keeps(manager string) bool {
	return m != nil && slices.ContainsFunc(m.owned,
		func(r ownedRule) bool { return len(r.paths) == 0 && r.names(manager) })
}

// Paths returns the pointers of the rules, as written, for the status: at most maxPaths. It returns none for a whole
// object or for rules with managers alone. Describe returns the rest.
func (m *Matcher) Paths() []string {
	if m == nil || m.whole {
		return nil
	}
	return slices.Clone(m.pointers[:min(len(m.pointers), maxPaths)])
}

// Describe completes Paths: it names the fields that are ignored only under certain managers, and counts the paths
// beyond maxPaths. It returns "" if Paths is complete.
func (m *Matcher) Describe() string {
	if m == nil || m.whole {
		return ""
	}
	var parts []string
	if m.deletion {
		parts = append(parts, "its deletion")
	}
	for _, r := range m.owned {
		what := "all fields"
		if len(r.paths) > 0 {
			what = strings.Join(r.pointers, ", ")
		}
		parts = append(parts, what+" while owned by "+strings.Join(r.managers, ", "))
	}
	text := plain.Cut(strings.Join(parts, "; "), maxDescription)
	if more := len(m.pointers) - maxPaths; more > 0 {
		text = strings.TrimPrefix(text+fmt.Sprintf("; %d more paths", more), "; ")
	}
	return text
}

// names reports whether a manager is one of the rule's.
func (r *ownedRule) names(manager string) bool {
	return slices.ContainsFunc(r.managers, func(pattern string) bool { return Glob(pattern, manager) })
}

// covers reports whether at is at or below one of the paths.
func covers(paths []path, at []string) bool {
	return slices.ContainsFunc(paths, func(p path) bool {
		return len(p) <= len(at) && slices.EqualFunc(p, at[:len(p)], func(segment, key string) bool {
			return segment == key || segment == AnySegment
		})
	})
}

// Glob reports whether a pattern matches all of a text. In the pattern, * stands for any text, also an empty one, and
// ? for one character. Its time is at most the product of both lengths, and it allocates nothing.
func Glob(pattern, text string) bool {
	p, t := 0, 0
	star, resume := -1, 0 // behind the last *, and where in the text its match ends so far
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, resume = p, t
			continue
		}
		_, size := utf8.DecodeRuneInString(text[t:])
		switch {
		case p < len(pattern) && pattern[p] == '?':
			p, t = p+1, t+size
		case p < len(pattern) && pattern[p] == text[t]:
			p, t = p+1, t+1
		case star >= 0:
			_, size := utf8.DecodeRuneInString(text[resume:])
			resume += size
			p, t = star, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
