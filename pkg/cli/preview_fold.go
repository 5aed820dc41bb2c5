package cli

import (
	"slices"

	"github.com/rancher/helm-locker/pkg/policy"
)

// foldedReleases are the releases of one outcome in which enforcing would change nothing: a line of the table.
type foldedReleases struct {
	outcome           string
	releases, objects int
}

// folded returns the releases to list, those to change first, and the others by outcome. With all, every release is
// listed. A single release of an outcome is listed, too: its line is as short as a count.
func (out *previewOut) folded(all bool) ([]*previewRelease, []foldedReleases) {
	var first, rest []*previewRelease
	var folded []foldedReleases
	same := map[string]int{}
	for i := range out.Releases {
		if r := &out.Releases[i]; r.isQuiet() {
			same[r.outcome()]++
		}
	}
	for i := range out.Releases {
		r := &out.Releases[i]
		switch outcome := r.outcome(); {
		case r.comesFirst():
			first = append(first, r)
		case all || !r.isQuiet() || same[outcome] == 1:
			rest = append(rest, r)
		default:
			at := slices.IndexFunc(folded, func(f foldedReleases) bool { return f.outcome == outcome })
			if at < 0 {
				at, folded = len(folded), append(folded, foldedReleases{outcome: outcome})
			}
			folded[at].releases++
			folded[at].objects += r.Objects
		}
	}
	return append(first, rest...), folded
}

// comesFirst reports whether enforcing would change the release, or it could not be compared.
func (r *previewRelease) comesFirst() bool { return len(r.Differences) > 0 || r.Error != "" }

// isQuiet reports whether the policy has the release, and enforcing would change nothing.
func (r *previewRelease) isQuiet() bool {
	switch policy.Outcome(r.Outcome) {
	case policy.Create, policy.Update, policy.Keep:
		return !r.comesFirst() && r.LeftOut == "" && !r.Held
	}
	return false
}
