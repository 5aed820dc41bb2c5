package events

import (
	"slices"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
)

// senders returns the users whose requests may have made the changes of a portion, each once, to the limit of a status,
// and the groups of a single one. seen is the time at which the operator saw the changes first.
func (p Portion) senders(requests []lock.Request, seen time.Time) (users, groups []string) {
	for _, r := range requests {
		if p.fits(r, seen) {
			users, groups = append(users, r.User), r.Groups
		}
	}
	slices.Sort(users)
	if users = slices.Compact(users); len(users) > 1 {
		groups = nil
	}
	return users[:min(len(users), v1alpha1.MaxPossibleUsers)], groups
}

// fits reports whether a request may have made the changes: a deletion if no field has changed, and otherwise a request
// at one of the paths. It came no more than a few seconds before they were seen, or at the time in managedFields.
func (p Portion) fits(r lock.Request, seen time.Time) bool {
	changed := p.changedAt()
	inTime := seen.Sub(r.At) <= missedAfter || !changed.IsZero() && r.At.Sub(changed).Abs() <= missedAfter
	return inTime && r.Deletion == (len(p.Changes) == 0) && (r.Deletion || r.Paths == nil ||
		slices.ContainsFunc(p.Changes, func(c drift.Change) bool { return slices.Contains(r.Paths, c.Path) }))
}
