package prune

import (
	"context"
	"slices"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/trust"
)

// reviewDoubt trusts a doubted record if enforcing it would write and delete nothing now: a writer with the rights made
// it so. Otherwise it announces the doubt, once for each lock. The prune candidates are known.
func (pr *Pruner) reviewDoubt(ctx context.Context, l *lock.Lock) error {
	hr := pr.Roster.Get(l.Key)
	v, known := pr.Views.View(l.Key)
	if hr == nil || !known || v.Lock != l || v.Sum.Unjudged > 0 || v.WatchErr != nil {
		return nil //nolint:nilerr // the rest of the comparison, or the watch that works again, calls reviewDoubt
	}
	state, _, err := pr.Trusted.Store.Of(ctx, hr.UID)
	if err != nil {
		return err
	}
	candidates := pr.candidatesOf(l.Key)
	left, pruned := candidates.left == l, candidates.done == l
	switch {
	case pr.wouldWrite(v) || left || state.AtWork != "":
		announced := true
		pr.Ledger.Update(l.Key, func(e *ledger.Entry) { announced, e.Doubted = e.Doubted, true })
		if !announced {
			pr.Reporter.Doubted(hr, l)
		}
		return nil
	case !pruned:
		return nil // a kind of an earlier revision is not served
	}
	again := false
	err = pr.Trusted.Store.Change(ctx, hr, func(s *trust.State) (bool, error) {
		if s.Changes != l.TrustChanges { // since then, a writer may have deployed or deleted what was compared
			pr.Ledger.Update(l.Key, func(e *ledger.Entry) { e.Reload = true })
			again = true
			return false, nil
		}
		if newest, err := pr.Enforcer.Holds(ctx, l.Record); err != nil || !newest {
			return false, err // the event of a newer record is on its way
		}
		s.Trust(trust.Record{UID: l.Record.UID, Revision: l.Record.Revision, Digest: l.Digest, Replace: true,
			Reason: v1alpha1.TrustAsDeclared, Time: pr.Trusted.Store.Now()})
		again = true
		return true, nil
	})
	if err == nil && again {
		pr.Queues.Releases.Add(l.Key)
	}
	return err
}

// wouldWrite reports whether the lock of a record would write something, or whether that is not known. While Helm works
// on an earlier revision, what is as declared now may be about to go. An excused object is not as declared: its next
// revert would write what is.
func (pr *Pruner) wouldWrite(v *reporting.View) bool {
	return v.Lock.Unknown || len(v.Conflicts) > 0 || len(v.Waiting) > 0 || len(v.Sum.Excused) > 0 ||
		slices.ContainsFunc(v.Sum.Problems, func(p lock.ObjectProblem) bool {
			return p.Reason != v1alpha1.ReasonNotRecreated
		}) || pr.Records.WorkBefore(v.Lock.Record)
}
