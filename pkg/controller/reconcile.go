package controller

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

var everything = labels.Everything()

// reconcile brings the lock of one HelmRelease in line with its spec and the newest record of its release.
func (c *Controller) reconcile(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	if namespace != c.Namespace {
		return nil
	}
	hr, err := c.clients.HelmReleases.Cache().Get(namespace, name)
	if apierrors.IsNotFound(err) {
		c.untrack(key)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read HelmRelease %s: %w", key, err)
	}
	mine, err := c.claim(hr)
	if err != nil {
		return err
	}
	if !mine || hr.DeletionTimestamp != nil {
		c.untrack(key)
		return nil
	}
	return c.decide(ctx, key, hr)
}

func (c *Controller) decide(ctx context.Context, key string, hr *v1alpha1.HelmRelease) error {
	if c.enter(key, hr.UID) {
		c.untrack(key)
		c.enter(key, hr.UID)
	}
	rel := releaseKey(hr)
	defer c.confirmLater(rel) // after the lock has followed the record: what is written now looks at the lock
	rec, found := c.releases.Newest(rel)
	now := c.Clock.Now()
	d := lock.Decide(lock.Input{Spec: hr.Spec, Record: rec, Found: found, Malformed: c.malformed(rel, rec, found),
		Now: now})
	if !d.Again.IsZero() {
		c.releaseQueue.AddAfter(key, d.Again.Sub(now))
	}
	before := lock.Decision{}
	c.update(key, func(e *entry) {
		before = e.decision
		e.release, e.decision, e.record, e.found = rel, d, rec, found
		e.history.seed(hr.Status.RecentDrift)
	})
	if first := c.keeper(hr); first != nil {
		c.unlock(key, problem{v1alpha1.ReasonConflict,
			fmt.Sprintf("HelmRelease %s/%s was created first and locks release %s; delete one of the two",
				first.Namespace, first.Name, rel)})
		return nil
	}
	if !d.Lock {
		c.unlock(key, problem{})
		c.announceUnlocked(hr, before, d)
		return nil
	}
	return c.lock(ctx, key, hr, rec)
}

// malformed returns why a Secret that may be the newest record of the release cannot be read.
func (c *Controller) malformed(key release.Key, newest release.Record, found bool) error {
	bad := c.releases.Malformed(key)
	names := make([]string, 0, len(bad))
	for name := range bad {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if m := bad[name]; !found || m.Revision == 0 || m.Revision >= newest.Revision {
			return m.Err
		}
	}
	return nil
}

// keeper returns the HelmRelease that keeps the release instead of hr: the one created first, by name among equals.
func (c *Controller) keeper(hr *v1alpha1.HelmRelease) *v1alpha1.HelmRelease {
	named, err := c.clients.HelmReleases.Cache().GetByIndex(byRelease, hr.Spec.Release.String())
	if err != nil {
		c.Log.Errorf("look up the HelmReleases of release %s: %v", hr.Spec.Release, err)
		return nil
	}
	first := hr
	for _, other := range named {
		if other.Namespace != c.Namespace || other.DeletionTimestamp != nil || !c.claimable(other) {
			continue
		}
		if createdBefore(other, first) {
			first = other
		}
	}
	if first == hr || first.UID == hr.UID {
		return nil
	}
	return first
}

func createdBefore(a, b *v1alpha1.HelmRelease) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// lock locks the release at the given record, unless it is so already.
func (c *Controller) lock(ctx context.Context, key string, hr *v1alpha1.HelmRelease, rec release.Record) error {
	spec := followed(hr.Spec)
	reload := false
	c.update(key, func(e *entry) { reload, e.reload = e.reload, false })
	if old := c.table.Get(key); old != nil && !reload && old.Record.Same(rec) && reflect.DeepEqual(old.Spec, spec) &&
		!c.kindArrived(key) && !c.granted(ctx, key) {
		return nil
	}
	account, err := c.Accounts.Of(rec.Key, spec.ServiceAccountName)
	if err != nil {
		c.unlock(key, problem{v1alpha1.ReasonNoServiceAccount, err.Error()})
		return nil //nolint:nilerr // the user has to act, and the condition says so
	}
	if wait := c.budget.wait(rec.Key.Namespace, c.Clock.Now()); wait > 0 {
		c.readLater(key, rec, wait)
		return nil
	}
	if c.refusedBefore(key, rec) {
		return nil
	}
	loaded, prob, err := c.load(ctx, rec, spec)
	if err != nil || prob.reason != "" {
		c.unlock(key, prob)
		if err == nil {
			c.update(key, func(e *entry) { e.refused = rec })
		}
		return err
	}
	denied, err := c.hold(ctx, account, loaded)
	if err != nil {
		if apierrors.IsForbidden(err) {
			prob = problem{v1alpha1.ReasonForbidden,
				fmt.Sprintf("the operator cannot act as %s, so nothing is locked; it needs the permission to "+
					"impersonate ServiceAccounts in namespace %s: %s", account, rec.Key.Namespace, safeError(err))}
		}
		c.unlock(key, prob)
		return err
	}
	if loaded.scalable {
		c.scalers.Need(ctx, key)
	} else {
		c.scalers.Drop(key)
	}
	l := lock.New(&lock.Lock{
		Key: key, Since: hr.CreationTimestamp.Time, Release: rec.Key, As: loaded.release.Key, Record: rec, Spec: spec,
		ServerSide: loaded.release.ApplyMethod == release.ApplyMethodServerSide,
		Detect:     spec.Mode == v1alpha1.ModeDetect, Strict: spec.Scope == v1alpha1.ScopeStrict,
		ReplaceImmutable: spec.ReplaceImmutable,
		Exceptions:       loaded.exceptions, Untracked: loaded.untracked, Account: account,
	}, loaded.objects)
	served := c.otherVersions(loaded)
	conflicts, displaced := c.table.Put(l)
	c.claims.prune()
	c.update(key, func(e *entry) {
		e.as, e.served = l.As, served
		e.problem, e.conflicts, e.waiting, e.skipped = problem{}, conflicts, loaded.waiting, loaded.skipped
		e.denials = denials{account: account, objects: denied}
		e.info = info{revision: rec.Revision, description: loaded.release.Description, notes: loaded.release.Notes}
		e.kinds, e.lockedAt = l.Kinds(), c.Clock.Now()
		e.history.locked()
	})
	for _, other := range displaced {
		c.update(other, func(e *entry) { e.reload = true })
		c.releaseQueue.Add(other)
	}
	c.retryConflicts(key)
	c.watchAll(l, loaded.kinds)
	c.leftoverQueue.Add(key)
	if len(loaded.waiting) > 0 {
		c.releaseQueue.AddAfter(key, c.kindWait())
	}
	if len(denied) > 0 {
		c.askLater(key, 0)
	}
	c.announceLocked(hr, l, len(loaded.objects)-len(conflicts))
	c.announceTrouble(hr, loaded, conflicts)
	c.announceDenied(hr, denials{account: account, objects: denied})
	return nil
}

// refusedBefore reports whether a record is known to hold a manifest that does not parse. That depends on nothing
// else, so it is not read again at every event of its HelmRelease.
func (c *Controller) refusedBefore(key string, rec release.Record) (refused bool) {
	c.update(key, func(e *entry) {
		refused = e.problem.reason == v1alpha1.ReasonManifestInvalid && e.refused.Same(rec)
	})
	return refused
}

// followed returns what of a spec a lock follows. Whether the release is suspended decides whether there is a lock.
func followed(spec v1alpha1.HelmReleaseSpec) v1alpha1.HelmReleaseSpec {
	spec.Suspend, spec.SuspendUntil = false, nil
	return *spec.DeepCopy()
}

// rangesChanged has objects looked at within whose range of replicas an autoscaler may choose differently now.
func (c *Controller) rangesChanged(ids []manifest.ID) {
	for _, id := range ids {
		l := c.table.Holder(id)
		if l == nil {
			continue
		}
		if l.LookAt(c.Clock.Now(), func(o *lock.Object) bool { return o.ID == id }) {
			c.driftQueue.Add(l.Key)
		}
		c.statusChanged(l.Key)
	}
}

// watchAll has the kinds of a lock watched and its objects looked at. The lock is in the table already, so a watch
// that starts now delivers them; objects of a kind that was watched before are looked at one by one, or by a list
// for many locks.
func (c *Controller) watchAll(l *lock.Lock, kinds map[schema.GroupVersionKind]watch.Kind) {
	for gvk := range kinds {
		l.AwaitList(gvk) // now, as it may be over before Need returns
	}
	begun := c.objects.Need(l.Key, kinds)
	for gvk := range begun {
		l.MissedList(gvk)
	}
	missed := map[schema.GroupVersionKind]watch.Kind{}
	for gvk, kind := range kinds {
		if begun[gvk] {
			missed[gvk] = kind
		}
	}
	if c.sweeps.join(c.Clock.Now(), c.toReconcile(), l, missed) {
		return
	}
	wake := l.LookAt(c.Clock.Now(), func(o *lock.Object) bool { return begun[o.GVK] })
	if wake {
		c.driftQueue.Add(l.Key)
	}
}

// unlock ends the lock of a HelmRelease. While Helm works its watches stay, because the release is locked again soon.
func (c *Controller) unlock(key string, p problem) {
	transitioning, news := false, false
	c.update(key, func(e *entry) {
		news = e.problem != p
		e.problem, e.conflicts, e.waiting, e.skipped, e.denials = p, nil, nil, nil, denials{}
		transitioning = e.decision.State == v1alpha1.StateTransitioning
	})
	if news {
		c.announceProblem(c.cached(key), p)
	}
	if c.table.Drop(key) {
		c.claims.prune()
		c.retryConflicts(key)
	}
	if !transitioning {
		c.objects.Need(key, nil)
		c.scalers.Drop(key)
		c.update(key, func(e *entry) { e.kinds = nil })
	}
}

// untrack forgets a HelmRelease that was deleted or is another controller's.
func (c *Controller) untrack(key string) {
	c.unlock(key, problem{})
	e := c.forget(key)
	if e != nil && e.release.Name != "" {
		c.enqueueRelease(e.release)
		c.confirmQueue.Add(e.release) // nobody asks for the record of this release any more
		c.forgetMetrics(e.release)
		c.Log.WithField("helmrelease", key).Infof("no longer looking after release %s", e.release)
	}
}

// retryConflicts has the HelmReleases reconciled that lack objects which the HelmRelease key owned, and owns no more.
func (c *Controller) retryConflicts(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, e := range c.entries {
		free := slices.ContainsFunc(e.conflicts, func(cf lock.Conflict) bool {
			if cf.Owner != key {
				return false
			}
			owner := c.table.Holder(cf.ID)
			return owner == nil || owner.Key != key
		})
		if free {
			e.reload = true
			c.releaseQueue.Add(other)
		}
	}
}
