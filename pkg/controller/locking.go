package controller

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/watch"
)

// began returns the start of the lock of a release at a record. The first lock of a process continues the lock in the
// status, from the time of the record on: a change made while no operator ran is counted from then.
func (rs *releases) began(hr *v1alpha1.HelmRelease, rec release.Record) time.Time {
	first := false
	rs.entries.update(keyOf(hr), func(e *entry) { first = e.lockedAt.IsZero() })
	locked := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionLocked)
	if !first || locked == nil || locked.Status != metav1.ConditionTrue {
		return rs.Clock.Now()
	}
	began := locked.LastTransitionTime.Time
	if rec.Modified.After(began) {
		began = rec.Modified
	}
	return began
}

// begin activates a lock: from then on, its objects are watched and drift is reverted.
func (rs *releases) begin(hr *v1alpha1.HelmRelease, loaded *loaded, l *lock.Lock) {
	key, served := l.Key, loaded.otherVersions(rs.kinds.Versions)
	var conflicts []lock.Conflict
	var displaced []string
	outdated := false
	// The lock and its entry change in one step. retryConflicts, after the release of an object by another lock, and
	// definitionChanged read the entries before both changes or after both.
	rs.memory.Keep(hr.UID, rs.table.Get(key))
	rs.entries.update(key, func(e *entry) {
		conflicts, displaced = rs.table.Put(l)
		outdated = rs.loader.definitions.changesSoFar() != loaded.definitions
		e.reload = e.reload || outdated
		e.as, e.Served = l.As, served
		if l.As == l.Release {
			e.names = release.Key{}
		}
		e.Problem, e.Conflicts, e.Waiting, e.Skipped = status.Problem{}, conflicts, loaded.waiting, loaded.skipped
		e.Denials, e.asked, e.Doubted = loaded.denials, 0, false
		e.Revision = status.Revision{Description: loaded.release.Description, Notes: loaded.release.Notes}
		e.kinds, e.lockedAt = slices.Collect(maps.Keys(loaded.kinds)), rs.Clock.Now()
		e.guarded = guardedBy(l)
		e.history.reverted = 0
	})
	if outdated {
		rs.queues.releases.Add(key)
	}
	rs.rangesChanged(rs.trusting(l))
	rs.claims.Prune()
	rs.guardWanted()
	for _, other := range displaced {
		rs.entries.update(other, func(e *entry) { e.reload = true })
		rs.queues.releases.Add(other)
	}
	rs.retryConflicts(key)
	rs.watchAll(l, loaded.kinds)
	rs.queues.pruning.Add(key)
	if len(loaded.waiting) > 0 {
		rs.queues.releases.AddAfter(key, rs.kindWait())
	}
	if len(loaded.denials.Objects) > 0 {
		rs.rights.askLater(key, 0)
	}
	rs.reporter.announceLocked(hr, l, len(loaded.objects)-len(conflicts))
	rs.reporter.announceTrouble(hr, loaded, conflicts)
}

// watchAll watches the kinds of a lock and schedules the reads of its objects. The lock is in the table already, so a
// new watch delivers its objects. Objects of a kind watched before are read one by one, or by a list for many locks.
func (rs *releases) watchAll(l *lock.Lock, kinds map[schema.GroupVersionKind]watch.Kind) {
	for gvk := range kinds {
		l.Unmanaged.AwaitList(gvk) // now, as it may be over before Need returns
	}
	begun := rs.objects.Need(l.Key, kinds)
	for gvk := range begun {
		l.Unmanaged.MissedList(gvk)
	}
	missed := map[schema.GroupVersionKind]watch.Kind{}
	for gvk, kind := range kinds {
		if begun[gvk] {
			missed[gvk] = kind
		}
	}
	if rs.relist.join(rs.Clock.Now(), rs.toReconcile(), l, missed) {
		return
	}
	wake := l.Recheck(rs.Clock.Now(), func(o *lock.Object) bool { return begun[o.GVK] })
	if wake {
		rs.queues.drift.Add(l.Key)
	}
}

// unlock ends the lock of a HelmRelease. While Helm works, its watches stay, because the release is locked again soon.
func (rs *releases) unlock(key string, p status.Problem) {
	transitioning, news := false, false
	uid := types.UID("")
	rs.entries.update(key, func(e *entry) {
		uid = e.uid
		news = e.Problem != p
		e.Problem, e.Conflicts, e.Waiting, e.Skipped, e.Denials = p, nil, nil, nil, status.Denials{}
		transitioning = e.Decision.State == v1alpha1.StateTransitioning
	})
	if news {
		rs.reporter.announceProblem(rs.cached(key), p)
	}
	rs.memory.Keep(uid, rs.table.Get(key))
	var trusting []manifest.ID
	if l := rs.table.Get(key); l != nil {
		trusting = rs.trusting(l)
	}
	rs.managerOf(key)
	if rs.table.Drop(key) {
		rs.rangesChanged(trusting)
		rs.claims.Prune()
		rs.retryConflicts(key)
	}
	if !transitioning {
		rs.objects.Need(key, nil)
		rs.inputs.Scalers.Drop(key)
		rs.entries.update(key, func(e *entry) { e.kinds, e.guarded = nil, nil })
		rs.guardWanted()
	}
}

// untrack forgets a HelmRelease after its deletion or its takeover by another controller.
func (rs *releases) untrack(key string) {
	rs.unlock(key, status.Problem{})
	e := rs.entries.forget(key)
	rs.guardWanted()
	if e != nil {
		rs.memory.Forget(e.uid)
	}
	if e != nil && e.release.Name != "" {
		rs.releaseChanged(e.release)
		rs.reporter.forgetMetrics(e.release)
		rs.Log.WithField("helmrelease", key).Infof("no longer managing release %s", e.release)
	}
}

// retryConflicts enqueues the HelmReleases that lack objects formerly owned by the HelmRelease key.
func (rs *releases) retryConflicts(key string) {
	rs.entries.each(func(other string, e *entry) {
		free := slices.ContainsFunc(e.Conflicts, func(cf lock.Conflict) bool {
			if cf.Owner != key {
				return false
			}
			owner := rs.table.Holder(cf.ID)
			return owner == nil || owner.Key != key
		})
		if free {
			e.reload = true
			rs.queues.releases.Add(other)
		}
	})
}
