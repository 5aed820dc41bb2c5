package cli

import (
	"slices"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/policy"
	"github.com/rancher/helm-locker/pkg/report"
)

// previewOut is a preview as JSON or YAML. Its fields are part of the command's interface.
type previewOut struct {
	Context string `json:"context,omitempty"`
	Policy  string `json:"policy"`
	Mode    string `json:"mode"`
	// Rights names the account that enforces the releases.
	Rights string `json:"rights"`
	// Enforced describes when the releases are enforced.
	Enforced string                  `json:"enforced,omitempty"`
	Summary  v1alpha1.PolicyCounts   `json:"summary"`
	Rollout  *v1alpha1.RolloutStatus `json:"rollout,omitempty"`
	Releases []previewRelease        `json:"releases"`
}

type previewRelease struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Outcome is the policy's effect on the release, By its other owner, and Why the reason of an unlock.
	Outcome string `json:"outcome"`
	By      string `json:"by,omitempty"`
	Why     string `json:"why,omitempty"`
	// Held is set for a release that the rollout holds because of its drift.
	Held     bool `json:"held,omitempty"`
	Revision int  `json:"revision,omitempty"`
	Objects  int  `json:"objects"`
	// Differences are the changes that enforcing would make.
	Differences []report.ObjectDrift `json:"differences,omitempty"`
	LeftOut     string               `json:"leftOut,omitempty"`
	Error       string               `json:"error,omitempty"`
}

// outcome describes the policy's effect on the release in a few words.
func (r *previewRelease) outcome() string {
	if r.Held {
		return "holds it because of drift"
	}
	switch policy.Outcome(r.Outcome) {
	case policy.Create:
		return "locks it"
	case policy.Update:
		return "changes its HelmRelease"
	case policy.Delete:
		return "unlocks it: " + r.Why
	case policy.Keep:
		return "has locked it"
	case policy.Waiting:
		return "waits for a deletion"
	case policy.HandWritten:
		return "leaves it to HelmRelease " + r.By
	case policy.OtherPolicy:
		return "leaves it to policy " + r.By
	case policy.OverBound:
		return "over spec.maxReleases"
	case policy.OperatorNamespace:
		return "the operator's namespace"
	case policy.NameTaken:
		return "HelmRelease " + r.By + " has the name"
	}
	return r.Outcome
}

// changes describes the changes that enforcing would make, a line for each object.
func (r *previewRelease) changes() []string {
	switch {
	case r.Error != "":
		return []string{"not compared: " + r.Error}
	case r.LeftOut != "":
		return []string{"wait: " + r.LeftOut}
	case len(r.Differences) == 0:
		return []string{"change nothing"}
	}
	var lines []string
	for _, d := range r.Differences {
		what := "revert " + d.What
		if isRefused(d) {
			what = "not revert " + d.What
		}
		switch inspect.State(d.State) {
		case inspect.StateMissing:
			what = "re-create it"
		case inspect.StateDeleting:
			what = "not end its deletion: " + d.What
		}
		lines = append(lines, d.Object.String()+": "+what)
	}
	return lines
}

// changing counts the objects that enforcing would change.
func (r *previewRelease) changing() (n int) {
	for _, d := range r.Differences {
		if !isRefused(d) {
			n++
		}
	}
	return n
}

// isRefused reports whether the API server refuses to revert each change of an object.
func isRefused(d report.ObjectDrift) bool {
	return len(d.Refused) > 0 && len(d.Refused) == len(d.Changes)
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
