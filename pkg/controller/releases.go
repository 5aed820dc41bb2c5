package controller

import (
	"cmp"
	"context"
	"reflect"

	"github.com/sirupsen/logrus"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/settled"
	"github.com/rancher/helm-locker/pkg/status"
)

// releases is the worker that brings the locks in line with HelmReleases and records.
type releases struct {
	*common
	loader   *loader
	reporter *reporter
	memory   *settled.Memory
	relist   *relist
	claims   *claims.Claims
	claimer  *claimer
	rights   *rights
	trusted  *trusted
	start    startBarrier
}

// next reconciles one HelmRelease, in a slot of the namespace of its release.
func (rs *releases) next(ctx context.Context, key string) {
	defer rs.queues.releases.Done(key)
	defer rs.start.done(key)
	slot, err := rs.slots.loading.Acquire(ctx, rs.namespaceOf(key))
	if err != nil { // the operator stops
		return
	}
	defer slot()
	if err := rs.reconcile(ctx, key); err != nil {
		rs.Log.WithField("helmrelease", key).Warnf("reconcile: %v; trying again", err)
		rs.queues.releases.AddRateLimited(key)
	} else {
		rs.queues.releases.Forget(key)
	}
	rs.statusChanged(key)
}

// toReconcile returns the number of HelmReleases waiting to be reconciled.
func (rs *releases) toReconcile() int { return rs.queues.releases.Len() + rs.slots.loading.Waiting() }

// namespaceOf returns the release namespace of a HelmRelease; empty if the HelmRelease does not exist.
func (rs *releases) namespaceOf(key string) string {
	hr := rs.cached(key)
	if hr == nil {
		return ""
	}
	return hr.Spec.Release.Namespace
}

// helmReleaseChanged enqueues a HelmRelease and every other one for the same release: the first one keeps the release,
// so the others depend on it. The release of a deleted or re-created HelmRelease is unknown here.
func (rs *releases) helmReleaseChanged(key string, hr *v1alpha1.HelmRelease) {
	rs.queues.releases.Add(key)
	if hr != nil {
		rs.releaseChanged(releaseKey(hr))
	}
	for _, behind := range rs.claimer.takeBehind(key) {
		rs.queues.releases.Add(behind)
	}
}

// recordChanged enqueues the HelmReleases that depend on the records of a release.
func (rs *releases) recordChanged(key release.Key) {
	for _, hr := range rs.named(key) {
		rs.entries.update(keyOf(hr), func(e *entry) { e.stirred = true })
		rs.queues.releases.Add(keyOf(hr))
	}
	for _, other := range rs.entries.naming(key) { // it may have to give way to this release, or need not any more
		rs.entries.update(other, func(e *entry) { e.reload = true })
		rs.queues.releases.Add(other)
	}
}

// reconcile brings the lock of one HelmRelease in line with its spec and the newest record of its release.
func (rs *releases) reconcile(ctx context.Context, key string) error {
	hr := rs.cached(key)
	switch {
	case hr == nil:
		rs.untrack(key)
		return nil
	case hr.Namespace != rs.Namespace:
		return nil
	}
	mine, err := rs.claimer.claim(hr)
	if err != nil {
		return err
	}
	if !mine || hr.DeletionTimestamp != nil {
		rs.untrack(key)
		return nil
	}
	if err := rs.decide(ctx, key, hr); err != nil {
		return err
	}
	return rs.readWriters(ctx, key, hr)
}

func (rs *releases) decide(ctx context.Context, key string, hr *v1alpha1.HelmRelease) error {
	if rs.entries.enter(key, hr.UID) {
		rs.untrack(key)
		rs.entries.enter(key, hr.UID)
	}
	rel := releaseKey(hr)
	rec, found := rs.records.Newest(rel)
	now := rs.Clock.Now()
	last := rec
	rs.entries.update(key, func(e *entry) { last = e.seen(rel, rec, found) })
	d := lock.Decide(lock.Input{Spec: hr.Spec, Record: rec, Found: found, Last: last,
		Malformed: rs.malformed(rel, rec, found),
		Storages:  rs.Storages, Elsewhere: rs.loader.elsewhere(ctx, key, hr, found), Now: now,
		SuspendReason: hr.Annotations[v1alpha1.SuspendReasonAnnotation],
		SuspendedBy:   hr.Annotations[v1alpha1.SuspendedByAnnotation]})
	if !d.Again.IsZero() {
		rs.queues.releases.AddAfter(key, d.Again.Sub(now))
	}
	before := lock.Decision{}
	rs.entries.update(key, func(e *entry) {
		before = e.Decision
		e.sees(rec, found)
		e.release, e.Decision, e.Record, e.Found = rel, d, rec, found
		e.history.seed(hr.Status.RecentDrift)
	})
	if first := rs.claimer.owner(hr); first != nil {
		rs.unlock(key, status.Problemf(v1alpha1.ReasonConflict,
			"HelmRelease %s/%s was created first and locks release %s; delete one of the two",
			first.Namespace, first.Name, rel))
		rs.handled(key, hr)
		rs.claimer.giveWay(key, keyOf(first))
		// Its event may have been handled just before.
		if now := rs.claimer.owner(hr); now == nil || now.UID != first.UID {
			rs.queues.releases.Add(key)
		}
		return nil
	}
	if !d.Lock {
		if err := rs.trusted.forget(ctx, hr, rec); err != nil {
			return err
		}
		rs.unlock(key, status.Problem{})
		rs.entries.update(key, func(e *entry) { e.fresh = false })
		rs.handled(key, hr)
		rs.reporter.announceUnlocked(hr, before, d)
		return nil
	}
	rs.noticeRules(key, hr, now)
	waits, err := rs.lock(ctx, key, hr, rec, d)
	if !waits {
		rs.handled(key, hr)
	}
	return err
}

// handled records that the lock of a HelmRelease, or its absence, follows this spec.
func (rs *releases) handled(key string, hr *v1alpha1.HelmRelease) {
	rs.entries.update(key, func(e *entry) { e.handled, e.Generation = true, hr.Generation })
}

// malformed returns the error of an unreadable object that may be the newest record of the release.
func (rs *releases) malformed(key release.Key, newest release.Record, found bool) error {
	for _, m := range rs.records.Malformed(key) {
		if !found || m.Revision == 0 || m.Revision >= newest.Revision || m.Storage != newest.Storage {
			return m.Err
		}
	}
	return nil
}

// present returns the lock of a HelmRelease; nil for none. It ends one whose record is no longer trusted.
func (rs *releases) present(ctx context.Context, key string, hr *v1alpha1.HelmRelease) *lock.Lock {
	stirred := false
	rs.entries.update(key, func(e *entry) { stirred, e.stirred = e.stirred, false })
	l := rs.table.Get(key)
	if stirred && rs.trusted.lost(ctx, hr, l) {
		rs.unlock(key, status.Problemf(v1alpha1.ReasonLocking, "a record of release %s has changed", l.Release))
		return nil
	}
	return l
}

// lock locks the release at the given record, unless it is locked already. waits reports whether the present lock, by
// an earlier spec, stays until the record may be read.
func (rs *releases) lock(
	ctx context.Context, key string, hr *v1alpha1.HelmRelease, rec release.Record, d lock.Decision,
) (waits bool, err error) {
	spec := followed(hr.Spec, d, rs.Clock.Now())
	reload, fresh := false, false
	rs.entries.update(key, func(e *entry) { reload, e.reload, fresh = e.reload, false, e.fresh })
	if old := rs.present(ctx, key, hr); old != nil && !reload && old.Record.Same(rec) &&
		reflect.DeepEqual(old.Spec, spec) && old.Resumes.Equal(d.Resumes) && !rs.kindArrived(key) &&
		!rs.rights.granted(ctx, key) && !rs.trusted.since(ctx, hr, old) {
		if old.Doubt != "" {
			rs.queues.pruning.Add(key) // for reviewDoubt: an earlier record may have changed
		}
		return false, nil
	}
	account, err := rs.Accounts.Of(rec.Key, spec.ServiceAccountName)
	if err != nil {
		rs.unlock(key, status.Problem{Reason: v1alpha1.ReasonNoServiceAccount, Message: err.Error()})
		return false, nil //nolint:nilerr // the user has to act, and the condition says so
	}
	if wait := rs.loader.budget.wait(rec.Key, rs.Clock.Now()); wait > 0 {
		return rs.readLater(key, rec, wait), nil
	}
	if rs.refusedBefore(key, rec) {
		return false, nil
	}
	begin := rs.Clock.Now()
	loaded, prob, err := rs.loadTrusted(ctx, account, rec, hr, spec)
	if err != nil || prob.Reason != "" {
		rs.unlock(key, prob)
		refused := release.Record{}
		if err == nil && prob.Reason == v1alpha1.ReasonManifestInvalid {
			refused = rec
		}
		rs.entries.update(key, func(e *entry) { e.refused = refused })
		return false, err
	}
	rs.debug(rec.Key).WithFields(logrus.Fields{
		"revision": rec.Revision, "objects": len(loaded.objects), "took": rs.Clock.Since(begin).String(),
	}).Debug("read the record")
	if loaded.scalable {
		rs.inputs.Scalers.Need(key)
	} else {
		rs.inputs.Scalers.Drop(key)
	}
	if as := loaded.release.Key; as != rec.Key {
		rec.As = as
	}
	rs.begin(hr, loaded, lock.New(&lock.Lock{
		Key: key, Since: hr.CreationTimestamp.Time, Began: rs.began(hr, rec), Release: rec.Key,
		As: loaded.release.Key, Record: rec, Spec: spec,
		ServerSide: loaded.release.ApplyMethod == release.ApplyMethodServerSide, Fresh: fresh,
		Writer: cmp.Or(rs.managerOf(key), loaded.writer),
		Detect: spec.Mode == v1alpha1.ModeDetect || loaded.doubt != "", Resumes: d.Resumes,
		Doubt: loaded.doubt, Digest: loaded.digest,
		Trust: loaded.trust, TrustChanges: loaded.changes,
		Strict:           spec.Scope == v1alpha1.ScopeStrict,
		ReplaceImmutable: spec.ReplaceImmutable,
		Ignore:           loaded.ignore, Exceptions: loaded.exceptions, Untracked: loaded.untracked,
		Unknown: len(loaded.waiting) > 0, Account: account, Hooks: loaded.release.Hooks,
	}, loaded.objects))
	return false, nil
}
