// Package locking locks the releases that HelmReleases name, at their newest deployed records.
package locking

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"github.com/sirupsen/logrus"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/status"
)

// Next reconciles one HelmRelease, in a slot of the namespace of its release.
func (lk *Locker) Next(ctx context.Context, key string) {
	defer lk.Queues.Releases.Done(key)
	defer lk.start.done(key)
	slot, err := lk.Slots.Loading.Acquire(ctx, lk.namespaceOf(key))
	if err != nil { // the operator stops
		return
	}
	defer slot()
	if err := lk.reconcile(ctx, key); err != nil {
		lk.Log.WithField("helmrelease", key).Warnf("reconcile: %v; trying again", err)
		lk.Queues.Releases.AddRateLimited(key)
	} else {
		lk.Queues.Releases.Forget(key)
	}
	lk.Queues.StatusChanged(key)
}

// reconcile brings the lock of one HelmRelease in line with its spec and the newest record of its release.
func (lk *Locker) reconcile(ctx context.Context, key string) error {
	hr := lk.Roster.Get(key)
	switch {
	case hr == nil:
		lk.locks.untrack(key)
		return nil
	case hr.Namespace != lk.Roster.Namespace:
		return nil
	}
	mine, err := lk.claimer.claim(hr)
	if err != nil {
		return err
	}
	if !mine || hr.DeletionTimestamp != nil {
		lk.locks.untrack(key)
		return nil
	}
	if err := lk.decide(ctx, key, hr); err != nil {
		return err
	}
	return lk.readWriters(ctx, key, hr)
}

func (lk *Locker) decide(ctx context.Context, key string, hr *v1alpha1.HelmRelease) error {
	if lk.Ledger.Enter(key, hr.UID) {
		lk.locks.untrack(key)
		lk.Ledger.Enter(key, hr.UID)
	}
	rel := roster.ReleaseOf(hr)
	rec, found := lk.Records.Newest(rel)
	now := lk.Clock.Now()
	last := rec
	lk.Ledger.Update(key, func(e *ledger.Entry) { last = e.Remember(rel, rec, found) })
	d := lock.Decide(lock.Input{Spec: hr.Spec, Record: rec, Found: found, Last: last,
		Malformed: lk.malformed(rel, rec, found),
		Storages:  lk.Roster.Storages, Elsewhere: lk.storages.elsewhere(ctx, key, hr, found), Now: now,
		SuspendReason: hr.Annotations[v1alpha1.SuspendReasonAnnotation],
		SuspendedBy:   hr.Annotations[v1alpha1.SuspendedByAnnotation]})
	if !d.Again.IsZero() {
		lk.Queues.Releases.AddAfter(key, d.Again.Sub(now))
	}
	before := lock.Decision{}
	lk.Ledger.Update(key, func(e *ledger.Entry) {
		before = e.Decision
		e.UpdateFresh(rec, found)
		e.Release, e.Decision, e.Record, e.Found = rel, d, rec, found
		e.History.Seed(hr.Status.RecentDrift)
	})
	if first := lk.claimer.owner(hr); first != nil {
		lk.locks.unlock(key, status.Problemf(v1alpha1.ReasonConflict,
			"HelmRelease %s/%s was created first and locks release %s; delete one of the two",
			first.Namespace, first.Name, rel))
		lk.handled(key, hr)
		lk.claimer.giveWay(key, roster.KeyOf(first))
		// Its event may have been handled just before.
		if now := lk.claimer.owner(hr); now == nil || now.UID != first.UID {
			lk.Queues.Releases.Add(key)
		}
		return nil
	}
	if !d.Lock {
		if err := lk.Trusted.Forget(ctx, hr, rec); err != nil {
			return err
		}
		lk.locks.unlock(key, status.Problem{})
		lk.Ledger.Update(key, func(e *ledger.Entry) { e.Fresh = false })
		lk.handled(key, hr)
		lk.Reporter.Unlocked(hr, before, d)
		return nil
	}
	lk.noticeRules(key, hr, now)
	waits, err := lk.lock(ctx, key, hr, rec, d)
	if !waits {
		lk.handled(key, hr)
	}
	return err
}

// malformed returns the error of an unreadable object that may be the newest record of the release.
func (lk *Locker) malformed(key release.Key, newest release.Record, found bool) error {
	for _, m := range lk.Records.Malformed(key) {
		if !found || m.Revision == 0 || m.Revision >= newest.Revision || m.Storage != newest.Storage {
			return m.Err
		}
	}
	return nil
}

// lock locks the release at the given record, unless it is locked already. waits reports whether the present lock, by
// an earlier spec, stays until the record may be read.
func (lk *Locker) lock(
	ctx context.Context, key string, hr *v1alpha1.HelmRelease, rec release.Record, d lock.Decision,
) (waits bool, err error) {
	spec := lock.Followed(hr.Spec, d, lk.Clock.Now())
	reload, fresh := false, false
	lk.Ledger.Update(key, func(e *ledger.Entry) { reload, e.Reload, fresh = e.Reload, false, e.Fresh })
	if old := lk.present(ctx, key, hr); old != nil && !reload && old.Record.Same(rec) &&
		reflect.DeepEqual(old.Spec, spec) && old.Resumes.Equal(d.Resumes) && !lk.kindArrived(key) &&
		!lk.locks.rights.granted(ctx, key) && !lk.Trusted.BecameTrusted(ctx, hr, old) {
		if old.Doubt != "" {
			lk.Queues.Pruning.Add(key) // the doubt may end: an earlier record may have changed
		}
		return false, nil
	}
	account, err := lk.Policy.Of(rec.Key, spec.ServiceAccountName)
	if err != nil {
		lk.locks.unlock(key, status.Problem{Reason: v1alpha1.ReasonNoServiceAccount, Message: err.Error()})
		return false, nil //nolint:nilerr // the user has to act, and the condition says so
	}
	if wait := lk.Budget.Wait(rec.Key, lk.Clock.Now()); wait > 0 {
		return lk.readLater(key, rec, wait), nil
	}
	if lk.refusedBefore(key, rec) {
		return false, nil
	}
	begin := lk.Clock.Now()
	loaded, prob, err := lk.revisions.loadTrusted(ctx, account, rec, hr, spec)
	if err != nil || prob.Reason != "" {
		lk.locks.unlock(key, prob)
		refused := release.Record{}
		if err == nil && prob.Reason == v1alpha1.ReasonManifestInvalid {
			refused = rec
		}
		lk.Ledger.Update(key, func(e *ledger.Entry) { e.Refused = refused })
		return false, err
	}
	lk.Log.WithField("release", rec.Key.String()).WithFields(logrus.Fields{
		"revision": rec.Revision, "objects": len(loaded.Objects), "took": lk.Clock.Since(begin).String(),
	}).Debug("read the record")
	if loaded.Scalable {
		lk.Inputs.Scalers.Need(key)
	} else {
		lk.Inputs.Scalers.Drop(key)
	}
	if as := loaded.Release.Key; as != rec.Key {
		rec.As = as
	}
	lk.locks.begin(hr, loaded, lock.New(&lock.Lock{
		Key: key, Since: hr.CreationTimestamp.Time, Began: lk.locks.began(hr, rec), Release: rec.Key,
		As: loaded.Release.Key, Record: rec, Spec: spec,
		ServerSide: loaded.Release.ApplyMethod == release.ApplyMethodServerSide, Fresh: fresh,
		Writer: cmp.Or(lk.Ledger.ManagerOf(key, lk.Table.Get(key)), loaded.Writer),
		Detect: spec.Mode == v1alpha1.ModeDetect || loaded.Doubt != "", Resumes: d.Resumes,
		Doubt: loaded.Doubt, Digest: loaded.Digest,
		Trust: loaded.Trust, TrustChanges: loaded.Changes,
		Strict:           spec.Scope == v1alpha1.ScopeStrict,
		ReplaceImmutable: spec.ReplaceImmutable,
		Ignore:           loaded.Ignore, Exceptions: loaded.Exceptions, Untracked: loaded.Untracked,
		Unknown: len(loaded.Waiting) > 0, Account: account, Hooks: loaded.Release.Hooks,
	}, loaded.Objects))
	return false, nil
}

// refusedBefore reports whether the manifest of a record is known not to parse. The result depends on the record alone,
// so events of the HelmRelease do not cause another read.
func (lk *Locker) refusedBefore(key string, rec release.Record) (refused bool) {
	lk.Ledger.Update(key, func(e *ledger.Entry) {
		refused = e.Problem.Reason == v1alpha1.ReasonManifestInvalid && e.Refused.Same(rec)
	})
	return refused
}

// readLater schedules the read of a record after wait. It reports whether a lock at the same record exists, and
// continues until then.
func (lk *Locker) readLater(key string, rec release.Record, wait time.Duration) (goesOn bool) {
	old := lk.Table.Get(key)
	goesOn = old != nil && old.Record.Same(rec)
	if !goesOn {
		lk.locks.unlock(key, status.Problemf(v1alpha1.ReasonLocking,
			"what changes of release %s, or of others in its namespace, takes so long to read and to "+
				"compare that the next record waits; make the releases smaller, or change them less often", rec.Key))
	}
	lk.Ledger.Update(key, func(e *ledger.Entry) { e.Reload = true })
	lk.Queues.Releases.AddAfter(key, wait)
	return goesOn
}

// noticeRules announces the next end of ignore rules a while before, once.
func (lk *Locker) noticeRules(key string, hr *v1alpha1.HelmRelease, now time.Time) {
	end := hr.Spec.NextIgnoreEnd(now)
	if end.IsZero() || now.Before(end.Add(-lock.Notice)) {
		return
	}
	news := false
	lk.Ledger.Update(key, func(e *ledger.Entry) { news, e.AnnouncedEnd = !e.AnnouncedEnd.Equal(end), end })
	if news {
		lk.Reporter.Event(hr, events.RulesEnd(hr, end))
	}
}
