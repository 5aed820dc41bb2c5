package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
)

// Release is a release with a record, as input of a policy.
type Release struct {
	release.Key
	// Labels are the labels of the newest record. Labels of Helm's storage select nothing.
	Labels map[string]string
}

// Namespaces are the labels of all namespaces, by name. A missing namespace is not known (yet): a match by namespace
// labels does not select it, and an exclude does.
type Namespaces map[string]map[string]string

// Matcher reports which releases a policy matches.
type Matcher struct {
	match   term
	exclude []term
}

// Compile returns the Matcher of a policy. The error names an invalid selector.
func Compile(spec *v1alpha1.HelmReleasePolicySpec) (*Matcher, error) {
	match, err := compile("spec.match", &spec.Match)
	if err != nil {
		return nil, err
	}
	m := &Matcher{match: match}
	for i := range spec.Exclude {
		exclude, err := compile(fmt.Sprintf("spec.exclude[%d]", i), &spec.Exclude[i])
		if err != nil {
			return nil, err
		}
		m.exclude = append(m.exclude, exclude)
	}
	return m, nil
}

// Matches reports whether the policy matches a release: its match selects the release, and no exclude does.
func (m *Matcher) Matches(r Release, namespaces Namespaces) bool {
	if !m.match.selects(r, namespaces, false) {
		return false
	}
	return !slices.ContainsFunc(m.exclude, func(t term) bool { return t.selects(r, namespaces, true) })
}

// NeedsNamespaces reports whether the policy selects by labels of namespaces.
func (m *Matcher) NeedsNamespaces() bool {
	return slices.ContainsFunc(m.terms(), func(t term) bool { return t.namespaceSelector != nil })
}

// LabelKeys returns the keys of the release labels that the policy selects by, sorted.
func (m *Matcher) LabelKeys() []string {
	var keys []string
	for _, t := range m.terms() {
		if t.releaseSelector == nil {
			continue
		}
		requirements, _ := t.releaseSelector.Requirements()
		for _, r := range requirements {
			keys = append(keys, r.Key())
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (m *Matcher) terms() []term { return append([]term{m.match}, m.exclude...) }

// Specificity is a measure of how narrowly a policy matches a release; the greater one of two, compared number by
// number, wins. The numbers are about the name of the release, its labels, the name of its namespace, and the labels
// of that. For a name: 0 when the policy matches any, 1,000 when the name is written out, and otherwise 1 plus the
// number of non-wildcard characters of the longest matching pattern. For labels: the number of requirements.
type Specificity [4]int

// Specificity returns the measure for a release that the policy matches. Excludes do not count.
func (m *Matcher) Specificity(r Release) Specificity {
	return Specificity{
		nameSpecificity(m.match.releases, r.Name), requirements(m.match.releaseSelector),
		nameSpecificity(m.match.namespaces, r.Namespace), requirements(m.match.namespaceSelector),
	}
}

// Compare returns a positive number when s is more specific than o, a negative one when it is less so.
func (s Specificity) Compare(o Specificity) int { return slices.Compare(s[:], o[:]) }

const exactName = 1000

func nameSpecificity(patterns []string, name string) (most int) {
	for _, pattern := range patterns {
		literal := len(pattern) - strings.Count(pattern, "*") - strings.Count(pattern, "?")
		switch {
		case pattern == name:
			return exactName
		case literal > 0 && rules.Glob(pattern, name):
			most = max(most, 1+literal)
		}
	}
	return most
}

func requirements(selector labels.Selector) int {
	if selector == nil {
		return 0
	}
	all, _ := selector.Requirements()
	return len(all)
}

// term is a ReleaseMatch: all of its parts have to apply. A selector is nil when it has none.
type term struct {
	namespaces, releases               []string
	namespaceSelector, releaseSelector labels.Selector
}

func compile(field string, m *v1alpha1.ReleaseMatch) (term, error) {
	t := term{namespaces: m.Namespaces, releases: m.Releases}
	var err error
	if t.namespaceSelector, err = selector(m.NamespaceSelector); err != nil {
		return t, fmt.Errorf("%s.namespaceSelector: %w", field, err)
	}
	if t.releaseSelector, err = selector(m.ReleaseSelector); err != nil {
		return t, fmt.Errorf("%s.releaseSelector: %w", field, err)
	}
	if len(t.namespaces) == 0 && len(t.releases) == 0 && t.namespaceSelector == nil && t.releaseSelector == nil {
		return t, fmt.Errorf("%s selects by nothing: give namespaces, namespaceSelector, releases or releaseSelector",
			field)
	}
	return t, nil
}

// selector returns a label selector, nil for none. An empty one is an error: it would select everything.
func selector(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	compiled, err := metav1.LabelSelectorAsSelector(s)
	if err == nil && compiled.Empty() {
		err = fmt.Errorf("it is empty, and would select everything")
	}
	return compiled, err
}

// selects reports whether the term selects a release. unknown is the result of a selector for an unknown namespace.
func (t *term) selects(r Release, namespaces Namespaces, unknown bool) bool {
	if len(t.namespaces) > 0 && !anyGlob(t.namespaces, r.Namespace) ||
		len(t.releases) > 0 && !anyGlob(t.releases, r.Name) ||
		t.releaseSelector != nil && !t.releaseSelector.Matches(custom(r.Labels)) {
		return false
	}
	if t.namespaceSelector == nil {
		return true
	}
	of, known := namespaces[r.Namespace]
	if !known {
		return unknown
	}
	return t.namespaceSelector.Matches(labels.Set(of))
}

func anyGlob(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return rules.Glob(pattern, text) })
}

// custom are the labels of a record without those of Helm's storage.
type custom map[string]string

// Lookup makes custom, with Has and Get, labels.Labels.
func (c custom) Lookup(label string) (string, bool) {
	if slices.Contains(release.Labels[:], label) {
		return "", false
	}
	value, found := c[label]
	return value, found
}

// Has reports whether there is a label.
func (c custom) Has(label string) bool {
	_, found := c.Lookup(label)
	return found
}

// Get returns the value of a label, empty without it.
func (c custom) Get(label string) string {
	value, _ := c.Lookup(label)
	return value
}
