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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/settled"
	"github.com/rancher/helm-locker/pkg/status"
)

// statuses is the worker that writes the statuses of HelmReleases.
type statuses struct {
	*common
	reporter *reporter
	memory   *settled.Memory
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
	if view.uid != hr.UID || !view.handled {
		return true, nil // the entry is of another HelmRelease of that name, or new: reconcile is about to fill it
	}
	if view.Lock != nil {
		if wait := st.memory.Store(ctx, hr, view.Lock); wait > 0 {
			st.queues.status.AddAfter(key, wait)
		}
	}
	status := st.status(hr, view)
	st.reporter.measure(key, view, status)
	if !view.Sum.QuietAt.IsZero() {
		st.queues.status.AddAfter(key, view.Sum.QuietAt.Sub(st.Clock.Now()))
	}
	if left := st.stillLocking(view, status); left > 0 {
		st.queues.status.AddAfter(key, min(left, statusDelay))
		return true, nil
	}
	if equality.Semantic.DeepEqual(hr.Status, status) {
		st.reporter.sendChanges(hr, status, view.writtenBy)
		return false, nil
	}
	if written, err := st.replaceStatus(hr, status); err != nil || !written {
		return false, err
	}
	st.reporter.sendChanges(hr, status, view.writtenBy)
	for _, e := range events.NewExemptions(hr.Status.Exceptions, status.Exceptions, view.Lock) {
		st.reporter.event(hr, e)
	}
	return false, nil
}

// stillLocking returns the time to wait before writing a status with no news but a new lock that is reading its
// objects. It is zero for every other status.
func (st *statuses) stillLocking(v *view, s v1alpha1.HelmReleaseStatus) time.Duration {
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if v.Lock == nil || ready == nil || ready.Reason != v1alpha1.ReasonLocking {
		return 0
	}
	return v.lockedAt.Add(lockingPatience).Sub(st.Clock.Now())
}

// view is a consistent copy of the inputs of a status, with the facts beside it.
type view struct {
	status.View
	bookkeeping
}

func (c *common) view(key string) (*view, bool) {
	v := &view{}
	known := c.entries.update(key, func(e *entry) {
		v.Facts, v.bookkeeping = e.Facts, e.bookkeeping
		v.Recent, v.Reverted = slices.Clone(e.history.recent), e.history.reverted
	})
	if !known {
		return nil, false
	}
	if v.Lock = c.table.Get(key); v.Lock != nil {
		v.Sum = v.Lock.Summarize(c.Clock.Now())
	}
	v.WatchErr = firstError(c.objects.Errors(v.kinds))
	state := &notServed
	if known := c.guardState.Load(); known != nil {
		state = known
	}
	v.Guard = status.Problem{Reason: state.Reason, Message: state.Message}
	v.Guarded = v.guarded != nil
	v.Asked = v.Guarded && state.Asked.Covers(v.guarded)
	return v, true
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

// status returns the status of a HelmRelease.
func (st *statuses) status(hr *v1alpha1.HelmRelease, v *view) v1alpha1.HelmReleaseStatus {
	s := v.Of(hr, func(id manifest.ID) *judge.Range {
		return st.inputs.Scalers.Known().Range(id, st.inputs.Trusts(v.Lock.Ignore, id))
	})
	if st.Shard != nil {
		s.Shard = st.Shard.String()
	}
	return s
}
