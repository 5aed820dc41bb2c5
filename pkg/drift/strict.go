package drift

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/managers"
)

// compare adds the additions to remove to found, the result of Compare for the declared fields.
func (s *Strict) compare(desired, live map[string]any, found Result, opt Options) Result {
	target := found.Target
	if target == nil {
		target = live
	}
	stripped, additions := s.strip(desired, target, live, opt, nil)
	if len(additions) == 0 {
		return found
	}
	c := recorder{changes: slices.Clone(found.Changes), foreign: true}
	for _, a := range additions {
		c.changes, c.unproven = append(c.changes, a.Change), c.unproven || a.injected
	}
	return c.result(stripped)
}

// HasAdditions reports whether scope Strict would remove anything from the live object, apart from the differences in
// both scopes and from injected elements. Options are those of a comparison in scope Declared, and s is the Strict of
// the other one.
func (s *Strict) HasAdditions(desired, live map[string]any, opt Options) bool {
	_, additions := s.strip(desired, live, live, opt, nil)
	return slices.ContainsFunc(additions, addition.isForeign)
}

// learn records in learnt the additions of others that live still has after its restoration, and the content of the
// injected elements.
func (s *Strict) learn(desired, live map[string]any, opt Options, learnt Baseline) {
	_, additions := s.strip(desired, live, live, opt, learnt)
	for _, a := range additions {
		learnt[a.key] = a.seen
	}
}

// strip returns target without the additions of others, and these. With learnt set, the content of the injected
// elements goes there, and none of them has changed.
func (s *Strict) strip(
	desired, target, live map[string]any, opt Options, learnt Baseline,
) (map[string]any, []addition) {
	helm := s.helm()
	foreign, c, kept := s.foreign(helm), newCursor(opt), keptFieldsOf(desired)
	run := func(others *fieldpath.Set) (map[string]any, []addition) {
		st := stripper{c: &c, desired: desired, kept: kept, learnt: learnt}
		stripped, _ := st.object(pair[map[string]any]{desired, target, live}, opt.Schema.root,
			owners{foreign: foreign, others: others})
		return stripped, st.additions
	}
	// Mostly all fields of others are declared, or removed already. Then the other owners need not be read, which takes
	// longer than the comparison.
	if stripped, additions := run(nil); !slices.ContainsFunc(additions, addition.isForeign) {
		return stripped, additions
	}
	others, ok := s.others(helm)
	if !ok {
		others = foreign // nothing is foreign alone
	}
	return run(others)
}

// keeps reports whether the fields of an entry's manager stay; helm is the name of Helm's manager.
func (s *Strict) keeps(entry *metav1.ManagedFieldsEntry, helm string) bool {
	switch name := entry.Manager; {
	case name == helm, unknownManagers[name], name == managers.Revert, name == earlierManager:
		return true
	case system(name):
		return true
	case s.Keep != nil && s.Keep(name):
		return true
	default:
		return likeHelm(entry)
	}
}

func (s *Strict) helm() string {
	if s.Helm.Manager != "" {
		return s.Helm.Manager
	}
	return ManagedBy(s.ManagedFields).Manager
}

// foreign returns the fields of foreign managers. An entry that cannot be read owns nothing. It leaves out writes of
// the status, since they can change little else. Of an entry in another version of the kind, the paths that this
// version has count.
func (s *Strict) foreign(helm string) *fieldpath.Set {
	all := &fieldpath.Set{}
	for i := range s.ManagedFields {
		entry := &s.ManagedFields[i]
		if entry.Subresource == "status" || s.keeps(entry, helm) {
			continue
		}
		if set, ok := fieldsOf(entry); ok {
			all = all.Union(set)
		}
	}
	return all
}

// others returns the fields of all other managers. It is not ok when that cannot be known.
func (s *Strict) others(helm string) (all *fieldpath.Set, ok bool) {
	all = &fieldpath.Set{}
	for i := range s.ManagedFields {
		entry := &s.ManagedFields[i]
		if !s.keeps(entry, helm) || entry.FieldsV1 == nil {
			continue
		}
		set, ok := fieldsOf(entry)
		if !ok {
			return nil, false
		}
		all = all.Union(set)
	}
	return all, true
}
