package reporting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/gather"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/settled"
)

// lockingPatience is the time for a new lock to read its objects before the status shows the reading: most take less,
// also when they wait for a shared list, and need one write of the status instead of two.
const lockingPatience = 20 * time.Second

// Statuses is the worker that writes the statuses of HelmReleases.
type Statuses struct {
	*Reporter
	Views        *Views
	HelmReleases helmcontrollers.HelmReleaseController
	Memory       *settled.Memory
	Inputs       *gather.Inputs
}

// Next writes the next status. It returns false after the end of the queue.
func (st *Statuses) Next(ctx context.Context) bool {
	key, shutdown := st.Queues.Status.Get()
	if shutdown {
		return false
	}
	defer st.Queues.Status.Done(key)
	waits, err := st.writeStatus(ctx, key)
	if !waits {
		st.announcements.written(key, st.Clock.Now(), st.Queues.Status.Len())
	}
	if err != nil {
		st.Log.WithField("helmrelease", key).Warnf("status: %v; trying again", err)
		st.Queues.Status.AddRateLimited(key)
		return true
	}
	st.Queues.Status.Forget(key)
	return true
}

// replaceStatus writes the whole status of a HelmRelease: a merge patch would keep fields that are absent now. It tests
// the uid, so that no HelmRelease gets the status of its predecessor of the same name. The result is false if the
// HelmRelease is gone.
func (st *Statuses) replaceStatus(hr *v1alpha1.HelmRelease, status v1alpha1.HelmReleaseStatus) (bool, error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": hr.UID},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return false, fmt.Errorf("encode the status: %w", err)
	}
	_, err = st.HelmReleases.Patch(hr.Namespace, hr.Name, types.JSONPatchType, patch, "status")
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
func (st *Statuses) writeStatus(ctx context.Context, key string) (waits bool, err error) {
	if !st.Leading.Load() {
		return false, nil
	}
	hr := st.Roster.Get(key)
	if hr == nil {
		st.sendGone(key)
		return false, nil
	}
	if !st.Roster.InShard(hr) {
		st.forgetSent(key) // the operator that has it now reports it
		return false, nil
	}
	view, ok := st.Views.View(key)
	if !ok || hr.DeletionTimestamp != nil {
		st.sendGone(key)
		return false, nil
	}
	if view.UID != hr.UID || !view.Handled {
		return true, nil // the entry is of another HelmRelease of that name, or new: reconcile is about to fill it
	}
	if view.Lock != nil {
		if wait := st.Memory.Store(ctx, hr, view.Lock); wait > 0 {
			st.Queues.Status.AddAfter(key, wait)
		}
	}
	status := st.status(hr, view)
	st.measure(key, view, status)
	if !view.Sum.QuietAt.IsZero() {
		st.Queues.Status.AddAfter(key, view.Sum.QuietAt.Sub(st.Clock.Now()))
	}
	if left := st.stillLocking(view, status); left > 0 {
		st.Queues.Status.AddAfter(key, min(left, queues.StatusDelay))
		return true, nil
	}
	if equality.Semantic.DeepEqual(hr.Status, status) {
		st.sendChanges(hr, status, view.WrittenBy)
		return false, nil
	}
	if written, err := st.replaceStatus(hr, status); err != nil || !written {
		return false, err
	}
	st.sendChanges(hr, status, view.WrittenBy)
	for _, e := range events.NewExemptions(hr.Status.Exceptions, status.Exceptions, view.Lock) {
		st.Event(hr, e)
	}
	return false, nil
}

// stillLocking returns the time to wait before writing a status with no news but a new lock that is reading its
// objects. It is zero for every other status.
func (st *Statuses) stillLocking(v *View, s v1alpha1.HelmReleaseStatus) time.Duration {
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if v.Lock == nil || ready == nil || ready.Reason != v1alpha1.ReasonLocking {
		return 0
	}
	return v.LockedAt.Add(lockingPatience).Sub(st.Clock.Now())
}

// status returns the status of a HelmRelease.
func (st *Statuses) status(hr *v1alpha1.HelmRelease, v *View) v1alpha1.HelmReleaseStatus {
	s := v.Of(hr, func(id manifest.ID) *judge.Range {
		return st.Inputs.Scalers.Known().Range(id, st.Inputs.Trusts(v.Lock.Ignore, id))
	})
	if st.Roster.Shard != nil {
		s.Shard = st.Roster.Shard.String()
	}
	return s
}
