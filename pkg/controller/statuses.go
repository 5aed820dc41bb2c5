package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
)

// statuses is the worker that writes the statuses of HelmReleases.
type statuses struct {
	*common
	reporter *reporter
	memory   *memory
}

func (st *statuses) next(ctx context.Context) bool {
	key, shutdown := st.queues.status.Get()
	if shutdown {
		return false
	}
	defer st.queues.status.Done(key)
	waits, err := st.writeStatus(ctx, key)
	if !waits {
		st.reporter.announcements.written(key, st.Clock.Now(), st.queues.status.Len())
	}
	if err != nil {
		st.Log.WithField("helmrelease", key).Warnf("status: %v; trying again", err)
		st.queues.status.AddRateLimited(key)
		return true
	}
	st.queues.status.Forget(key)
	return true
}

// replaceStatus writes the whole status of a HelmRelease: a merge patch would keep fields that are absent now. It tests
// the uid, so that no HelmRelease gets the status of its predecessor of the same name. The result is false if the
// HelmRelease is gone.
func (st *statuses) replaceStatus(hr *v1alpha1.HelmRelease, status v1alpha1.HelmReleaseStatus) (bool, error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": hr.UID},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return false, fmt.Errorf("encode the status: %w", err)
	}
	_, err = st.clients.HelmReleases.Patch(hr.Namespace, hr.Name, types.JSONPatchType, patch, "status")
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write the status: %w", err)
	}
	return true, nil
}

// writeStatus writes the status of a HelmRelease if it differs from the cached one. waits is true if the status is not
// worth writing yet; it is then written later.
func (st *statuses) writeStatus(ctx context.Context, key string) (waits bool, err error) {
	if !st.leading.Load() {
		return false, nil
	}
	hr := st.cached(key)
	if hr == nil {
		st.reporter.sendGone(key)
		return false, nil
	}
	if !st.inShard(hr) {
		st.reporter.forgetSent(key) // the operator that has it now reports it
		return false, nil
	}
	view, ok := st.view(key)
	if !ok || hr.DeletionTimestamp != nil {
		st.reporter.sendGone(key)
		return false, nil
	}
	if view.entry.uid != hr.UID || !view.entry.handled {
		return true, nil // the entry is of another HelmRelease of that name, or new: reconcile is about to fill it
	}
	if view.lock != nil {
		if wait := st.memory.store(ctx, hr, view.lock); wait > 0 {
			st.queues.status.AddAfter(key, wait)
		}
	}
	status := st.status(hr, view)
	st.reporter.measure(key, view, status)
	if !view.sum.QuietAt.IsZero() {
		st.queues.status.AddAfter(key, view.sum.QuietAt.Sub(st.Clock.Now()))
	}
	if left := st.stillLocking(view, status); left > 0 {
		st.queues.status.AddAfter(key, min(left, statusDelay))
		return true, nil
	}
	if equality.Semantic.DeepEqual(hr.Status, status) {
		st.reporter.sendChanges(hr, status, view.entry.writtenBy)
		return false, nil
	}
	if written, err := st.replaceStatus(hr, status); err != nil || !written {
		return false, err
	}
	st.reporter.sendChanges(hr, status, view.entry.writtenBy)
	for _, e := range newExemptions(hr.Status.Exceptions, status.Exceptions, view.lock) {
		st.reporter.event(hr, e)
	}
	return false, nil
}

// stillLocking returns the time to wait before writing a status with no news but a new lock that is reading its
// objects. It is zero for every other status.
func (st *statuses) stillLocking(v *view, s v1alpha1.HelmReleaseStatus) time.Duration {
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if v.lock == nil || ready == nil || ready.Reason != v1alpha1.ReasonLocking {
		return 0
	}
	return v.entry.lockedAt.Add(lockingPatience).Sub(st.Clock.Now())
}

// view is a consistent copy of the inputs of a status.
type view struct {
	entry    facts
	lock     *lock.Lock
	sum      lock.Summary
	recent   []v1alpha1.DriftRecord
	reverted int
	watchErr error
	guard    guard.State
}

func (c *common) view(key string) (*view, bool) {
	v := &view{guard: notServed}
	if state := c.guardState.Load(); state != nil {
		v.guard = *state
	}
	known := c.entries.update(key, func(e *entry) {
		v.entry = e.facts
		v.recent, v.reverted = slices.Clone(e.history.recent), e.history.reverted
	})
	if !known {
		return nil, false
	}
	if v.lock = c.table.Get(key); v.lock != nil {
		v.sum = v.lock.Summarize(c.Clock.Now())
	}
	v.watchErr = firstError(c.objects.Errors(v.entry.kinds))
	return v, true
}

// trust returns the trust in the record of the lock.
func (v *view) trust() *v1alpha1.TrustStatus {
	t := v.lock.Trust.DeepCopy()
	if v.lock.Doubt != "" && !v.entry.doubted {
		t.State, t.Message = v1alpha1.TrustStateComparing, ""
	}
	return t
}

// firstError returns the most informative error of the failed watches, nil for none. The order is fixed, so the same
// errors give the same result: a missing permission first, then by kind.
func firstError(errs map[schema.GroupVersionKind]error) error {
	kinds := slices.SortedFunc(maps.Keys(errs), func(a, b schema.GroupVersionKind) int {
		if x, y := apierrors.IsForbidden(errs[a]), apierrors.IsForbidden(errs[b]); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a.String(), b.String())
	})
	if len(kinds) == 0 {
		return nil
	}
	return fmt.Errorf("watch of %s: %w", kinds[0].Kind, errs[kinds[0]])
}

// status makes the status of a HelmRelease from a view.
func (st *statuses) status(hr *v1alpha1.HelmRelease, v *view) v1alpha1.HelmReleaseStatus {
	e := v.entry
	s := v1alpha1.HelmReleaseStatus{
		ObservedGeneration: e.generation, State: e.decision.State,
		// Neutral, since they are shown: by kubectl, dashboards and this program.
		Description: plain.Cut(plain.Line(plain.Cut(e.info.description, v1alpha1.MaxDescriptionBytes)),
			v1alpha1.MaxDescriptionBytes),
		Notes:       plain.Cut(plain.Block(plain.Cut(e.info.notes, v1alpha1.MaxNotesBytes)), v1alpha1.MaxNotesBytes),
		RecentDrift: v.recent,
	}
	if st.Shard != nil {
		s.Shard = st.Shard.String()
	}
	if e.found {
		s.Version = e.record.Revision
	}
	if !e.decision.Since.IsZero() {
		since := metav1.NewTime(e.decision.Since.UTC())
		s.TransitioningSince = &since
	}
	if w := e.decision.Window; w != (lock.Span{}) {
		s.Window = &v1alpha1.WindowStatus{Start: metav1.NewTime(w.Start.UTC()), End: metav1.NewTime(w.End.UTC())}
	}
	if v.lock != nil {
		s.Revision, s.Trust = v.lock.Record.Revision, v.trust()
		s.Objects = v.sum.ObjectCounts
		s.Exceptions = st.exceptions(v)
		if more := len(s.Exceptions) - v1alpha1.MaxExceptions; more > 0 {
			s.Exceptions, s.MoreExceptions = s.Exceptions[:v1alpha1.MaxExceptions], more
		}
	}
	for _, ids := range e.waiting {
		s.Objects.Tracked += len(ids)
		s.Objects.Waiting += len(ids)
	}
	s.Objects.Tracked += len(e.denials.objects)
	s.Objects.Waiting += len(e.denials.objects)
	if e.problem.reason == v1alpha1.ReasonDecodeFailed || e.problem.reason == v1alpha1.ReasonManifestInvalid {
		s.State = v1alpha1.StateError
	}
	s.Conditions = conditions(hr, v)
	return s
}
