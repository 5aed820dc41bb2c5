package locking

import (
	"context"
	"sync"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/status"
)

// Locker is the worker that brings the locks in line with HelmReleases and records.
type Locker struct {
	*Options
	locks     *locks
	revisions *revisions
	storages  *storages
	claimer   *claimer
	start     startBarrier
}

// New returns a Locker.
func New(o *Options) *Locker {
	rights := &rights{o}
	return &Locker{Options: o, locks: &locks{o, newRelist(o), rights}, revisions: &revisions{o, rights},
		storages: &storages{o}, claimer: &claimer{Options: o, behind: map[string][]string{}}}
}

// Holder returns the HelmRelease that locks a release; nil for none.
func (lk *Locker) Holder(key release.Key) *v1alpha1.HelmRelease { return lk.claimer.holder(key) }

// Start calls then once the HelmReleases with these keys were reconciled, or after a while.
func (lk *Locker) Start(keys []string, then func()) { lk.start.wait(keys, then) }

// Run ends the wait of Start, and makes the shared lists, until ctx ends.
func (lk *Locker) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { lk.startAnyway(ctx) })
	lk.locks.relist.run(ctx, lk.toReconcile)
	running.Wait()
}

// startAnyway ends the wait at the start when it takes too long.
func (lk *Locker) startAnyway(ctx context.Context) {
	timer := lk.Clock.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case <-timer.C():
		lk.start.end()
	case <-ctx.Done():
	}
}

// handled records that the lock of a HelmRelease, or its absence, follows this spec.
func (lk *Locker) handled(key string, hr *v1alpha1.HelmRelease) {
	lk.Ledger.Update(key, func(e *ledger.Entry) { e.Handled, e.Generation = true, hr.Generation })
}

// present returns the lock of a HelmRelease; nil for none. It ends one whose record is no longer trusted.
func (lk *Locker) present(ctx context.Context, key string, hr *v1alpha1.HelmRelease) *lock.Lock {
	changed := false
	lk.Ledger.Update(key, func(e *ledger.Entry) { changed, e.RecordChanged = e.RecordChanged, false })
	l := lk.Table.Get(key)
	if changed && lk.Trusted.Lost(ctx, hr, l) {
		lk.locks.unlock(key, status.Problemf(v1alpha1.ReasonLocking, "a record of release %s has changed", l.Release))
		return nil
	}
	return l
}

// HelmReleaseChanged enqueues a HelmRelease and every other one for the same release: the first one keeps the release,
// so the others depend on it. The release of a deleted or re-created HelmRelease is unknown here.
func (lk *Locker) HelmReleaseChanged(key string, hr *v1alpha1.HelmRelease) {
	lk.Queues.Releases.Add(key)
	if hr != nil {
		lk.Roster.Enqueue(roster.ReleaseOf(hr))
	}
	for _, behind := range lk.claimer.takeBehind(key) {
		lk.Queues.Releases.Add(behind)
	}
}

// RecordChanged enqueues the HelmReleases that depend on the records of a release.
func (lk *Locker) RecordChanged(key release.Key) {
	for _, hr := range lk.Roster.For(key) {
		lk.Ledger.Update(roster.KeyOf(hr), func(e *ledger.Entry) { e.RecordChanged = true })
		lk.Queues.Releases.Add(roster.KeyOf(hr))
	}
	for _, other := range lk.Ledger.Naming(key) { // it may have to give way to this release, or need not any more
		lk.Ledger.Update(other, func(e *ledger.Entry) { e.Reload = true })
		lk.Queues.Releases.Add(other)
	}
}

// namespaceOf returns the release namespace of a HelmRelease; empty if the HelmRelease does not exist.
func (lk *Locker) namespaceOf(key string) string {
	hr := lk.Roster.Get(key)
	if hr == nil {
		return ""
	}
	return hr.Spec.Release.Namespace
}
