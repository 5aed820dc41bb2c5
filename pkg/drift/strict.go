package drift

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Strict makes a comparison remove the undeclared additions of others to the live object, see the package comment. It
// is not changed and may be used for one object at a time only.
type Strict struct {
	// ManagedFields are those of the compared live object. Without them nothing is removed.
	ManagedFields []metav1.ManagedFieldsEntry
	// Helm is Helm's field manager on the object: the fields of a manager of this name stay. Set the one known from the
	// object in sync, if there is one: a writer that tampers with Helm's metadata must not become Helm by that. When
	// its Manager is empty, ManagedBy determines it.
	Helm Owner
	// Keep, if set, reports whether the fields of a further manager stay.
	Keep func(manager string) bool
}

// compare adds the additions to remove to found, the result of Compare for the declared fields.
func (s *Strict) compare(desired, live map[string]any, found Result, opt Options) Result {
	target := found.Target
	if target == nil {
		target = live
	}
	stripped, additions := s.strip(desired, target, live, opt)
	stripped, injected := s.injected(desired, stripped, live, opt)
	if additions = append(additions, injected...); len(additions) == 0 {
		return found
	}
	c := recorder{changes: slices.Clone(found.Changes), foreign: true, unproven: len(injected) > 0}
	for _, a := range additions {
		c.changes = append(c.changes, a.Change)
	}
	return c.result(stripped)
}

// HasAdditions reports whether scope Strict would remove anything from the live object, apart from the differences in
// both scopes. Options are those of a comparison in scope Declared, and s is the Strict of the other one.
func (s *Strict) HasAdditions(desired, live map[string]any, opt Options) bool {
	_, additions := s.strip(desired, live, live, opt)
	return len(additions) > 0
}

// learn records in learnt the additions of others that live still has after its restoration.
func (s *Strict) learn(desired, live map[string]any, opt Options, learnt Baseline) {
	_, additions := s.strip(desired, live, live, opt)
	for _, a := range additions {
		learnt[a.key] = a.seen
	}
	s.learnInjected(desired, live, opt, learnt)
}

// strip returns target without the additions of others, and these.
func (s *Strict) strip(desired, target, live map[string]any, opt Options) (map[string]any, []addition) {
	helm := s.helm()
	foreign := s.foreign(helm)
	if foreign == nil {
		return target, nil
	}
	c, kept := newCursor(opt), keptFieldsOf(desired)
	// Mostly all fields of others are declared, or removed already: then the other owners need not be read.
	run := func(others *fieldpath.Set) (map[string]any, []addition) {
		st := stripper{c: &c, desired: desired, kept: kept}
		stripped, _ := st.object(pair[map[string]any]{desired, target, live}, opt.Schema.root,
			owners{foreign: foreign, others: others})
		return stripped, st.additions
	}
	if _, additions := run(&fieldpath.Set{}); len(additions) == 0 {
		return target, nil
	}
	others, ok := s.others(helm)
	if !ok {
		return target, nil
	}
	return run(others)
}
