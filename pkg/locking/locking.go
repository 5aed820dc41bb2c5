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

// locks begins and ends the locks of the releases.
type locks struct {
	*Options
	relist *relist
	rights *rights
}

// began returns the start of the lock of a release at a record. The first lock of a process continues the lock in the
// status, from the time of the record on: a change made while no operator ran is counted from then.
func (ls *locks) began(hr *v1alpha1.HelmRelease, rec release.Record) time.Time {
	first := false
	ls.Ledger.Update(roster.KeyOf(hr), func(e *ledger.Entry) { first = e.LockedAt.IsZero() })
	locked := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionLocked)
	if !first || locked == nil || locked.Status != metav1.ConditionTrue {
		return ls.Clock.Now()
	}
	began := locked.LastTransitionTime.Time
	if rec.Modified.After(began) {
		began = rec.Modified
	}
	return began
}

// begin activates a lock: from then on, its objects are watched and drift is reverted.
func (ls *locks) begin(hr *v1alpha1.HelmRelease, loaded *lockable, l *lock.Lock) {
	key, served := l.Key, loaded.OtherVersions(ls.Kinds.Versions)
	var conflicts []lock.Conflict
	var displaced []string
	outdated := false
	// The lock and its entry change in one step. retryConflicts, after the release of an object by another lock, and
	// DefinitionChanged read the entries before both changes or after both.
	ls.Memory.Keep(hr.UID, ls.Table.Get(key))
	ls.Ledger.Update(key, func(e *ledger.Entry) {
		conflicts, displaced = ls.Table.Put(l)
		outdated = !ls.Loader.IsCurrent(loaded.Revision)
		e.Reload = e.Reload || outdated
		e.As, e.Served = l.As, served
		if l.As == l.Release {
			e.Names = release.Key{}
		}
		e.Problem, e.Conflicts, e.Waiting, e.Skipped = status.Problem{}, conflicts, loaded.Waiting, loaded.Skipped
		e.Denials, e.Asked, e.Doubted = loaded.denials, 0, false
		e.Revision = status.Revision{Description: loaded.Release.Description, Notes: loaded.Release.Notes}
		e.Kinds, e.LockedAt = slices.Collect(maps.Keys(loaded.Kinds)), ls.Clock.Now()
		e.Guards = ledger.GuardedBy(l)
		e.History.Reverted = 0
	})
	if outdated {
		ls.Queues.Releases.Add(key)
	}
	ls.RangesChanged(ls.trusting(l))
	ls.Claims.Prune()
	ls.Ledger.GuardChanged()
	for _, other := range displaced {
		ls.Ledger.Update(other, func(e *ledger.Entry) { e.Reload = true })
		ls.Queues.Releases.Add(other)
	}
	ls.retryConflicts(key)
	ls.watchAll(l, loaded.Kinds)
	ls.Queues.Pruning.Add(key)
	if len(loaded.Waiting) > 0 {
		ls.Queues.Releases.AddAfter(key, ls.Kinds.Wait())
	}
	if len(loaded.denials.Objects) > 0 {
		ls.rights.askLater(key, 0)
	}
	ls.Reporter.Locked(hr, l, len(loaded.Objects)-len(conflicts))
	ls.Reporter.Trouble(hr, loaded.Revision, loaded.denials, conflicts)
}

// watchAll watches the kinds of a lock and schedules the reads of its objects. The lock is in the table already, so a
// new watch delivers its objects. Objects of a kind watched before are read one by one, or by a list for many locks.
func (ls *locks) watchAll(l *lock.Lock, kinds map[schema.GroupVersionKind]watch.Kind) {
	for gvk := range kinds {
		l.Unmanaged.AwaitList(gvk) // now, as it may be over before Need returns
	}
	begun := ls.Objects.Need(l.Key, kinds)
	for gvk := range begun {
		l.Unmanaged.MissedList(gvk)
	}
	missed := map[schema.GroupVersionKind]watch.Kind{}
	for gvk, kind := range kinds {
		if begun[gvk] {
			missed[gvk] = kind
		}
	}
	if ls.relist.join(ls.Clock.Now(), ls.toReconcile(), l, missed) {
		return
	}
	wake := l.Recheck(ls.Clock.Now(), func(o *lock.Object) bool { return begun[o.GVK] })
	if wake {
		ls.Queues.Drift.Add(l.Key)
	}
}

// unlock ends the lock of a HelmRelease. While Helm works, its watches stay, because the release is locked again soon.
func (ls *locks) unlock(key string, p status.Problem) {
	transitioning, news := false, false
	uid := types.UID("")
	ls.Ledger.Update(key, func(e *ledger.Entry) {
		uid = e.UID
		news = e.Problem != p
		e.Problem, e.Conflicts, e.Waiting, e.Skipped, e.Denials = p, nil, nil, nil, status.Denials{}
		transitioning = e.Decision.State == v1alpha1.StateTransitioning
	})
	if news {
		ls.Reporter.Problem(ls.Roster.Get(key), p)
	}
	ls.Memory.Keep(uid, ls.Table.Get(key))
	var trusting []manifest.ID
	if l := ls.Table.Get(key); l != nil {
		trusting = ls.trusting(l)
	}
	ls.Ledger.ManagerOf(key, ls.Table.Get(key))
	if ls.Table.Drop(key) {
		ls.RangesChanged(trusting)
		ls.Claims.Prune()
		ls.retryConflicts(key)
	}
	if !transitioning {
		ls.Objects.Need(key, nil)
		ls.Inputs.Scalers.Drop(key)
		ls.Ledger.Update(key, func(e *ledger.Entry) { e.Kinds, e.Guards = nil, nil })
		ls.Ledger.GuardChanged()
	}
}

// untrack forgets a HelmRelease after its deletion or its takeover by another controller.
func (ls *locks) untrack(key string) {
	ls.unlock(key, status.Problem{})
	e := ls.Ledger.Forget(key)
	ls.Ledger.GuardChanged()
	ls.Untracked(key)
	if e != nil {
		ls.Memory.Forget(e.UID)
	}
	if e != nil && e.Release.Name != "" {
		ls.Roster.Enqueue(e.Release)
		ls.Reporter.ForgetMetrics(e.Release)
		ls.Log.WithField("helmrelease", key).Infof("no longer managing release %s", e.Release)
	}
}

// retryConflicts enqueues the HelmReleases that lack objects formerly owned by the HelmRelease key.
func (ls *locks) retryConflicts(key string) {
	ls.Ledger.Each(func(other string, e *ledger.Entry) {
		free := slices.ContainsFunc(e.Conflicts, func(cf lock.Conflict) bool {
			if cf.Owner != key {
				return false
			}
			owner := ls.Table.Holder(cf.ID)
			return owner == nil || owner.Key != key
		})
		if free {
			e.Reload = true
			ls.Queues.Releases.Add(other)
		}
	})
}
