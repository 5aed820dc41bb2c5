package locking

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/watch"
)

// began returns the start of the lock of a release at a record. The first lock of a process continues the lock in the
// status, from the time of the record on: a change made while no operator ran is counted from then.
func (lk *Locker) began(hr *v1alpha1.HelmRelease, rec release.Record) time.Time {
	first := false
	lk.Ledger.Update(roster.KeyOf(hr), func(e *ledger.Entry) { first = e.LockedAt.IsZero() })
	locked := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionLocked)
	if !first || locked == nil || locked.Status != metav1.ConditionTrue {
		return lk.Clock.Now()
	}
	began := locked.LastTransitionTime.Time
	if rec.Modified.After(began) {
		began = rec.Modified
	}
	return began
}

// begin activates a lock: from then on, its objects are watched and drift is reverted.
func (lk *Locker) begin(hr *v1alpha1.HelmRelease, loaded *lockable, l *lock.Lock) {
	key, served := l.Key, loaded.OtherVersions(lk.Kinds.Versions)
	var conflicts []lock.Conflict
	var displaced []string
	outdated := false
	// The lock and its entry change in one step. retryConflicts, after the release of an object by another lock, and
	// DefinitionChanged read the entries before both changes or after both.
	lk.Memory.Keep(hr.UID, lk.Table.Get(key))
	lk.Ledger.Update(key, func(e *ledger.Entry) {
		conflicts, displaced = lk.Table.Put(l)
		outdated = !lk.Loader.IsCurrent(loaded.Revision)
		e.Reload = e.Reload || outdated
		e.As, e.Served = l.As, served
		if l.As == l.Release {
			e.Names = release.Key{}
		}
		e.Problem, e.Conflicts, e.Waiting, e.Skipped = status.Problem{}, conflicts, loaded.Waiting, loaded.Skipped
		e.Denials, e.Asked, e.Doubted = loaded.denials, 0, false
		e.Revision = status.Revision{Description: loaded.Release.Description, Notes: loaded.Release.Notes}
		e.Kinds, e.LockedAt = slices.Collect(maps.Keys(loaded.Kinds)), lk.Clock.Now()
		e.Guards = ledger.GuardedBy(l)
		e.History.Reverted = 0
	})
	if outdated {
		lk.Queues.Releases.Add(key)
	}
	lk.RangesChanged(lk.trusting(l))
	lk.Claims.Prune()
	lk.Ledger.GuardChanged()
	for _, other := range displaced {
		lk.Ledger.Update(other, func(e *ledger.Entry) { e.Reload = true })
		lk.Queues.Releases.Add(other)
	}
	lk.retryConflicts(key)
	lk.watchAll(l, loaded.Kinds)
	lk.Queues.Pruning.Add(key)
	if len(loaded.Waiting) > 0 {
		lk.Queues.Releases.AddAfter(key, lk.Kinds.Wait())
	}
	if len(loaded.denials.Objects) > 0 {
		lk.rights.askLater(key, 0)
	}
	lk.Reporter.Locked(hr, l, len(loaded.Objects)-len(conflicts))
	lk.Reporter.Trouble(hr, loaded.Revision, loaded.denials, conflicts)
}

// watchAll watches the kinds of a lock and schedules the reads of its objects. The lock is in the table already, so a
// new watch delivers its objects. Objects of a kind watched before are read one by one, or by a list for many locks.
func (lk *Locker) watchAll(l *lock.Lock, kinds map[schema.GroupVersionKind]watch.Kind) {
	for gvk := range kinds {
		l.Unmanaged.AwaitList(gvk) // now, as it may be over before Need returns
	}
	begun := lk.Objects.Need(l.Key, kinds)
	for gvk := range begun {
		l.Unmanaged.MissedList(gvk)
	}
	missed := map[schema.GroupVersionKind]watch.Kind{}
	for gvk, kind := range kinds {
		if begun[gvk] {
			missed[gvk] = kind
		}
	}
	if lk.relist.join(lk.Clock.Now(), lk.toReconcile(), l, missed) {
		return
	}
	wake := l.Recheck(lk.Clock.Now(), func(o *lock.Object) bool { return begun[o.GVK] })
	if wake {
		lk.Queues.Drift.Add(l.Key)
	}
}

// unlock ends the lock of a HelmRelease. While Helm works, its watches stay, because the release is locked again soon.
func (lk *Locker) unlock(key string, p status.Problem) {
	transitioning, news := false, false
	uid := types.UID("")
	lk.Ledger.Update(key, func(e *ledger.Entry) {
		uid = e.UID
		news = e.Problem != p
		e.Problem, e.Conflicts, e.Waiting, e.Skipped, e.Denials = p, nil, nil, nil, status.Denials{}
		transitioning = e.Decision.State == v1alpha1.StateTransitioning
	})
	if news {
		lk.Reporter.Problem(lk.Roster.Get(key), p)
	}
	lk.Memory.Keep(uid, lk.Table.Get(key))
	var trusting []manifest.ID
	if l := lk.Table.Get(key); l != nil {
		trusting = lk.trusting(l)
	}
	lk.Ledger.ManagerOf(key, lk.Table.Get(key))
	if lk.Table.Drop(key) {
		lk.RangesChanged(trusting)
		lk.Claims.Prune()
		lk.retryConflicts(key)
	}
	if !transitioning {
		lk.Objects.Need(key, nil)
		lk.Inputs.Scalers.Drop(key)
		lk.Ledger.Update(key, func(e *ledger.Entry) { e.Kinds, e.Guards = nil, nil })
		lk.Ledger.GuardChanged()
	}
}

// untrack forgets a HelmRelease after its deletion or its takeover by another controller.
func (lk *Locker) untrack(key string) {
	lk.unlock(key, status.Problem{})
	e := lk.Ledger.Forget(key)
	lk.Ledger.GuardChanged()
	lk.Untracked(key)
	if e != nil {
		lk.Memory.Forget(e.UID)
	}
	if e != nil && e.Release.Name != "" {
		lk.Roster.Enqueue(e.Release)
		lk.Reporter.ForgetMetrics(e.Release)
		lk.Log.WithField("helmrelease", key).Infof("no longer managing release %s", e.Release)
	}
}

// retryConflicts enqueues the HelmReleases that lack objects formerly owned by the HelmRelease key.
func (lk *Locker) retryConflicts(key string) {
	lk.Ledger.Each(func(other string, e *ledger.Entry) {
		free := slices.ContainsFunc(e.Conflicts, func(cf lock.Conflict) bool {
			if cf.Owner != key {
				return false
			}
			owner := lk.Table.Holder(cf.ID)
			return owner == nil || owner.Key != key
		})
		if free {
			e.Reload = true
			lk.Queues.Releases.Add(other)
		}
	})
}
