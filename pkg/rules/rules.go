// Package rules turns the ignore rules of a HelmRelease into functions for a comparison: is this field of this object
// left alone? It is pure: rules and objects go in, functions come out.
//
// The API types define the meaning of a rule. Rules match the manifest and never a live object. The one exception is
// the owners of a field: a rule with managers matches those, and they come from a drift.Ownership.
package rules

import (
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Rules are the compiled rules of one HelmRelease. They are immutable; nil ones match nothing.
type Rules struct{ rules []rule }

// Compile compiles spec.ignore. It keeps no reference to the rules.
//
// The API server validates most of this when a HelmRelease is created. It accepts a selector of the right form with a
// key or value that no label can have. The error names every bad part of a rule (up to maxErrors of them) as the API
// server would. With an error there are no Rules at all: without the bad rule, the lock would revert fields that it
// protects.
func Compile(ignore []v1alpha1.IgnoreRule) (*Rules, error) {
	c := compiler{}
	if len(ignore) > v1alpha1.MaxIgnoreRules {
		c.failf("spec.ignore", "at most %d rules are allowed, not %d", v1alpha1.MaxIgnoreRules, len(ignore))
		return nil, c.err()
	}
	r := &Rules{rules: make([]rule, len(ignore))}
	for i := range ignore {
		r.rules[i] = c.rule(i, &ignore[i])
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return r, nil
}

// For returns the rules for an object, or nil if there are none. The object comes from manifest.Set.Resolve: its
// namespace is filled in where the manifest has none, and Helm's ownership metadata is among its labels and
// annotations.
func (r *Rules) For(o manifest.Object) *Matcher {
	return r.matcher(o, func(r *rule) *rule { return r })
}

// Names reports whether a rule selects an object by its kind and its name.
func (r *Rules) Names(o manifest.Object) bool {
	return r != nil && slices.ContainsFunc(r.rules, func(r rule) bool {
		return r.target.kind != nil && r.target.name != nil && r.target.selects(o)
	})
}

// Declared is For without the paths at which the object declares nothing: a rule about /spec/replicas with every object
// as its target does not concern a ConfigMap. It is nil if no rule is left. It is for people to read: the lock ignores
// additions of the API server or others at such a path all the same.
func (r *Rules) Declared(o manifest.Object) *Matcher {
	return r.matcher(o, func(r *rule) *rule {
		if len(r.paths) == 0 {
			return r
		}
		declared := *r
		declared.paths, declared.pointers = nil, nil
		for i, path := range r.paths {
			if declares(o.Content, path) {
				declared.paths = append(declared.paths, path)
				declared.pointers = append(declared.pointers, r.pointers[i])
			}
		}
		if len(declared.paths) == 0 {
			return nil
		}
		return &declared
	})
}

// matcher returns the rules for an object after narrow; nil leaves a rule out.
func (r *Rules) matcher(o manifest.Object, narrow func(*rule) *rule) *Matcher {
	if r == nil {
		return nil
	}
	var m *Matcher
	for i := range r.rules {
		if !r.rules[i].target.selects(o) {
			continue
		}
		narrowed := narrow(&r.rules[i])
		if narrowed == nil {
			continue
		}
		if m == nil {
			m = &Matcher{}
		}
		m.add(narrowed)
	}
	return m
}

// declares reports whether a value in unstructured form has something at a path.
func declares(value any, at path) bool {
	if len(at) == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if (key == at[0] || at[0] == AnySegment) && declares(member, at[1:]) {
				return true
			}
		}
	case []any:
		for i, element := range v {
			if (strconv.Itoa(i) == at[0] || at[0] == AnySegment) && declares(element, at[1:]) {
				return true
			}
		}
	}
	return false
}

func (t *target) selects(o manifest.Object) bool {
	return matches(t.group, o.GVK.Group) && matches(t.version, o.GVK.Version) && matches(t.kind, o.GVK.Kind) &&
		matches(t.name, o.ID.Name) && matches(t.namespace, o.ID.Namespace) &&
		(t.labels == nil || t.labels.Matches(metadata(o, "labels"))) &&
		(t.annotations == nil || t.annotations.Matches(metadata(o, "annotations")))
}

// matches reports whether an expression matches all of a text. The leftmost-longest match is all of it if any match
// is; unlike ^(?:...)$ around the expression, this also holds for one with \Q in it.
func matches(expression *regexp.Regexp, text string) bool {
	if expression == nil {
		return true
	}
	at := expression.FindStringIndex(text)
	return len(at) == 2 && at[0] == 0 && at[1] == len(text)
}

// metadata returns the labels or annotations of a manifest. It skips values other than strings, which the API server
// would reject.
func metadata(o manifest.Object, field string) labels.Set {
	meta, _ := o.Content["metadata"].(map[string]any)
	declared, _ := meta[field].(map[string]any)
	set := make(labels.Set, len(declared))
	for key, value := range declared {
		if text, ok := value.(string); ok {
			set[key] = text
		}
	}
	return set
}
