package admit

import (
	"context"
	"slices"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/salvage"
)

// forbidding returns the undeclared fields of a request beside which the API server refuses to restore the declared
// fields that differ already. Such a request introduces drift, as its revert has to take these fields out. Dry runs
// find them; without an answer there are none.
func (ad *Admission) forbidding(ctx context.Context, q *question) []drift.Change {
	if q.DryRun { // it may be such a dry run itself
		return nil
	}
	in, found, added := q.Added()
	if len(added) == 0 {
		return nil
	}
	update := func(found judge.Result) *enforce.Revert {
		r := revert.Update(q.object, q.Before, found, nil)
		r.Record, r.RemovesForeign, r.Manager, r.ServerSide = q.lock.Record, true, "", false
		return r
	}
	begun := ad.Clock.Now()
	defer func() { ad.Spend(q.lock.Release, ad.Clock.Now(), ad.Clock.Since(begun)) }()
	_, refusal := ad.DryRunner.DryRun(ctx, update(found))
	if refusal == nil || !salvage.RefusesContent(refusal) {
		return nil
	}
	all, err := salvage.New(ad.DryRunner, in, found, update, refusal).Additions(ctx)
	if err != nil {
		ad.Log.WithField("object", q.ID.String()).
			Debugf("guard: cannot determine whether a request forbids the declared values: %s", apierror.Safe(err))
		return nil
	}
	var changes []drift.Change
	for _, a := range all {
		if slices.ContainsFunc(added, a.Within) {
			changes = append(changes, a.Change)
		}
	}
	return changes
}
