package policy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// Plan contains the decisions.
type Plan struct {
	// Results are ordered by policy and release. A release with a deleted HelmRelease may have a second one.
	Results []Result
	// Policies are ordered by name.
	Policies []Summary
}

// Of returns the summary and the results of one policy; false for one without effect.
func (p *Plan) Of(name string) (Summary, []Result, bool) {
	for _, s := range p.Policies {
		if s.Policy.Name == name {
			others := func(r Result) bool { return r.Policy.Name != name }
			return s, slices.DeleteFunc(slices.Clone(p.Results), others), true
		}
	}
	return Summary{}, nil, false
}

// Make returns the plan for an input. It reads nothing else, and the same input gives the same plan.
func Make(in Input) Plan {
	pl := newPlanner(in)
	for _, r := range in.Releases {
		pl.present[r.Key] = true
		pl.decide(r)
	}
	for _, c := range pl.policies {
		pl.bound(c)
	}
	pl.removals()
	plan := Plan{}
	for _, c := range pl.policies {
		slices.SortStableFunc(c.results, func(a, b Result) int { return compareKeys(a.Release, b.Release) })
		plan.Results = append(plan.Results, c.results...)
		plan.Policies = append(plan.Policies, c.summary())
	}
	return plan
}

func newPlanner(in Input) *planner {
	pl := &planner{
		Input: in, byUID: map[types.UID]*candidate{}, byName: map[string]*v1alpha1.HelmRelease{},
		handWritten: map[release.Key]*v1alpha1.HelmRelease{}, made: map[release.Key]*v1alpha1.HelmRelease{},
		decided: map[types.UID]bool{}, present: make(map[release.Key]bool, len(in.Releases)),
	}
	for _, p := range in.Policies {
		if p.Namespace != in.Namespace || p.DeletionTimestamp != nil || !claimable(p.Annotations, in.Controller) {
			continue
		}
		c := &candidate{HelmReleasePolicy: p, ownRights: !in.Bounded && OwnRights(p)}
		c.matcher, c.problem = pl.compile(p)
		pl.policies = append(pl.policies, c)
		if p.UID != "" {
			pl.byUID[p.UID] = c
		}
	}
	slices.SortFunc(pl.policies, func(a, b *candidate) int { return cmp.Compare(a.Name, b.Name) })
	sorted := slices.SortedFunc(slices.Values(in.HelmReleases),
		func(a, b *v1alpha1.HelmRelease) int { return cmp.Compare(a.Name, b.Name) })
	for _, hr := range sorted {
		if hr.Namespace == in.Namespace {
			pl.index(hr)
		}
	}
	return pl
}

// claimable reports whether an operator of a controller name manages, or may claim, an object with these annotations.
func claimable(annotations map[string]string, controller string) bool {
	by := annotations[v1alpha1.ManagedByAnnotation]
	return by == "" || controller == "" || by == controller
}

// index records a HelmRelease.
func (pl *planner) index(hr *v1alpha1.HelmRelease) {
	pl.byName[hr.Name] = hr
	key := release.Key{Namespace: hr.Spec.Release.Namespace, Name: hr.Spec.Release.Name}
	owner := v1alpha1.PolicyOf(hr)
	if owner == nil || !claimable(hr.Annotations, pl.Controller) {
		if pl.handWritten[key] == nil {
			pl.handWritten[key] = hr
		}
		return
	}
	if c := pl.byUID[owner.UID]; c != nil {
		c.previous = append(c.previous, hr)
	}
	if hr.Name == Name(key) {
		pl.made[key] = hr
	}
}

// owner returns the policy that made a HelmRelease, nil for none with an effect.
func (pl *planner) owner(hr *v1alpha1.HelmRelease) *candidate {
	if hr == nil {
		return nil
	}
	if owner := v1alpha1.PolicyOf(hr); owner != nil {
		return pl.byUID[owner.UID]
	}
	return nil
}

// decide determines the policy that has a release, and the results for the others that match.
func (pl *planner) decide(r Release) {
	if len(r.Name) > maxReleaseName {
		return
	}
	matching := pl.matching(r)
	if len(matching) == 0 {
		return
	}
	key, existing := r.Key, pl.made[r.Key]
	if by := pl.handWritten[key]; by != nil {
		for _, c := range matching {
			c.add(Result{Release: key, Outcome: HandWritten, By: by.Name})
		}
		return
	}
	first := matching[0]
	if owner := pl.owner(existing); owner != nil && owner.problem.Reason != "" {
		first = owner // what it locked stays locked
	}
	for _, c := range matching {
		if c != first {
			c.add(Result{Release: key, Outcome: OtherPolicy, By: first.Name, Existing: existing})
		}
	}
	if first.problem.Reason == "" {
		first.won = append(first.won, won{key, existing})
	}
}

// matching returns the policies that match a release and may lock it, the most specific one first. For the others it
// records the reason.
func (pl *planner) matching(r Release) []*candidate {
	var matching []*candidate
	for _, c := range pl.policies {
		switch {
		case c.problem.Reason != "" || !c.matcher.Matches(r, pl.Namespaces):
		case r.Namespace == pl.Namespace && !c.Spec.IncludeOperatorNamespace:
			c.add(Result{Release: r.Key, Outcome: OperatorNamespace})
		default:
			matching = append(matching, c)
		}
	}
	if len(matching) > 1 {
		slices.SortStableFunc(matching, func(a, b *candidate) int { return precedes(a, b, r) })
	}
	return matching
}

// precedes orders two policies that match a release: the more specific first, then the older, then by name. A policy
// not stored yet is the youngest.
func precedes(a, b *candidate, r Release) int {
	young := func(c *candidate) int {
		if c.CreationTimestamp.IsZero() {
			return 1
		}
		return 0
	}
	return cmp.Or(
		b.matcher.Specificity(r).Compare(a.matcher.Specificity(r)),
		cmp.Compare(young(a), young(b)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// removals plans the deletion of policies' HelmReleases that are no longer wanted.
func (pl *planner) removals() {
	for _, c := range pl.policies {
		for _, hr := range c.previous {
			key := release.Key{Namespace: hr.Spec.Release.Namespace, Name: hr.Spec.Release.Name}
			switch {
			case pl.decided[hr.UID], hr.DeletionTimestamp != nil:
			case c.problem.Reason != "":
				c.add(Result{Release: key, Outcome: Keep, Existing: hr})
			default:
				c.add(Result{Release: key, Outcome: Delete, Existing: hr, Why: pl.why(c, hr, key)})
			}
		}
	}
}

// why returns the reason why the HelmRelease of a policy is no longer wanted.
func (pl *planner) why(c *candidate, hr *v1alpha1.HelmRelease, key release.Key) string {
	if by := pl.handWritten[key]; by != nil {
		return "HelmRelease " + by.Name + " was written for the release by hand"
	}
	if !pl.present[key] {
		return "Helm has no record of the release any more"
	}
	if c.over[key] {
		return "the policy matches more releases than spec.maxReleases allows"
	}
	if hr.Name != Name(key) {
		return "the HelmRelease of the policy is " + Name(key)
	}
	return "the policy does not match the release any more"
}
