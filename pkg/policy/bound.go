package policy

import (
	"cmp"
	"slices"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// defaultMaxReleases is the default of spec.maxReleases.
const defaultMaxReleases = 1000

// bound decides about each release won by a policy: within spec.maxReleases it gets a HelmRelease.
func (pl *planner) bound(c *candidate) {
	most := c.Spec.MaxReleases
	if most < 1 {
		most = defaultMaxReleases
	}
	within, over := shares(c.won, most)
	c.over = map[release.Key]bool{}
	for _, w := range over {
		c.over[w.key] = true
		c.add(Result{Release: w.key, Outcome: OverBound})
	}
	var usable []won
	for _, w := range within {
		taken := pl.byName[Name(w.key)]
		switch {
		case taken == nil || taken == w.existing && taken.DeletionTimestamp == nil:
			usable = append(usable, w)
		case taken.DeletionTimestamp != nil:
			pl.decided[taken.UID] = true
			c.add(Result{Release: w.key, Outcome: Waiting, Existing: taken})
		default:
			c.add(Result{Release: w.key, Outcome: NameTaken, By: taken.Name})
		}
	}
	r := pl.roll(c, usable)
	for _, w := range usable {
		pl.lock(c, w, r)
	}
}

// lock plans the creation, the change or no change of a release's HelmRelease, given the decision of the rollout.
func (pl *planner) lock(c *candidate, w won, r rolled) {
	of := phase{mode: modeOf(c.HelmReleasePolicy), heldSince: r.heldSince[w]}
	if rolls(c.HelmReleasePolicy) || c.unaccepted() {
		switch {
		case r.moves[w]:
			of.enforcedSince = formatTime(wholeSecond(pl.Now))
		case enforced(w.existing):
			of.enforcedSince = w.existing.Annotations[v1alpha1.EnforcedSinceAnnotation]
		default:
			of.mode = v1alpha1.ModeDetect
		}
	}
	result := Result{Release: w.key, Outcome: Keep, Existing: w.existing}
	want := desired(c.HelmReleasePolicy, w.key, w.existing, of)
	if c.unaccepted() && enforced(w.existing) { // it stays enforced, and with the rights that it has
		want.Spec.ServiceAccountName = w.existing.Spec.ServiceAccountName
	}
	if shorten(c.HelmReleasePolicy, want, pl.Now) {
		result.Why = PauseShortened
	}
	if w.existing == nil {
		annotate(want, v1alpha1.ManagedByAnnotation, pl.Controller) // claimed already: that saves a write
		result.Outcome, result.Desired = Create, want
	} else {
		pl.decided[w.existing.UID] = true
		if differs(w.existing, want) {
			result.Outcome, result.Desired = Update, want
		}
	}
	c.add(result)
}

// shares divides a policy's releases into those within a bound and those beyond it. Namespaces get equal shares: users
// choose the number of releases in their namespace, and must not displace those of others. In a namespace with more
// than its share, locked releases come first, then the order of names decides.
func shares(all []won, most int) (within, over []won) {
	byRelease := func(a, b won) int { return compareKeys(a.key, b.key) }
	if len(all) <= most {
		return slices.SortedFunc(slices.Values(all), byRelease), nil
	}
	type ranked struct {
		won
		rank int // in its namespace
	}
	locked := func(w won) int {
		if w.existing != nil && w.existing.DeletionTimestamp == nil {
			return 0
		}
		return 1
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b won) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(locked(a), locked(b)), byRelease(a, b))
	})
	ranks := make([]ranked, len(sorted))
	for i, w := range sorted {
		ranks[i] = ranked{won: w}
		if i > 0 && sorted[i-1].key.Namespace == w.key.Namespace {
			ranks[i].rank = ranks[i-1].rank + 1
		}
	}
	slices.SortStableFunc(ranks, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(locked(a.won), locked(b.won)), byRelease(a.won, b.won))
	})
	for i, r := range ranks {
		if i < most {
			within = append(within, r.won)
		} else {
			over = append(over, r.won)
		}
	}
	slices.SortFunc(within, byRelease)
	return within, over
}
