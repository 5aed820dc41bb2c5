package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/revert"
)

// refusedPause is the time between two attempts to take back an object under the same record after a refused deletion.
const refusedPause = time.Minute

// takeBack deletes the object that a write created, unless it must stay. A deletion is a write like every other: the
// record is read again.
func (rm *remediation) takeBack(ctx context.Context, w lock.Write, r *newestRevision) error {
	if r.record.Contested {
		return nil // nothing tells what Helm relies on; the next change of a record comes back to it
	}
	if w.RefusedUnder.Same(r.record) && rm.Clock.Since(w.RefusedAt) < refusedPause {
		return nil // the queue has the next attempt
	}
	why := "the release is uninstalled"
	if r.isDesired() {
		why = fmt.Sprintf("revision %d does not declare it", r.record.Revision)
	}
	created, lost := w.Made, w.Made == nil
	if lost {
		live, err := rm.enforcer.Get(ctx, revert.Object(w.Object))
		if err != nil {
			return err
		}
		created = live
		if mine, err := rm.mayBeResult(ctx, w, r, live); err != nil || !mine {
			return err
		}
	}
	switch {
	case created == nil || w.Object.Keep || manifest.Kept(created.GetAnnotations()) ||
		lost && created.GetDeletionTimestamp() != nil:
		rm.unproven.Drop(w)
		return nil
	case judge.HoldsData(w.Object.ID.GroupKind()):
		rm.reporter.superseded(w, holdsDataEvent(w.Object.ID, why))
		rm.unproven.Drop(w)
		return nil
	}
	next := &lock.Write{Key: w.Key, Object: w.Object, Record: r.under(w), Deleted: true, Begun: rm.Clock.Now()}
	if !rm.unproven.Follow(w, next) {
		return nil
	}
	deleted := false
	_, err := rm.carryOut(next, func() (_ *unstructured.Unstructured, err error) {
		deleted, err = rm.enforcer.TakeBack(ctx, revert.Object(w.Object), created)
		return nil, err
	})
	switch {
	case apierrors.IsForbidden(err):
		if w.RefusedAt.IsZero() { // the same again is no news
			rm.reporter.superseded(w, notTakenBackEvent(w.Object.ID, why, err))
		}
		w.RefusedAt, w.RefusedUnder = rm.Clock.Now(), r.record
		rm.unproven.Again(w)
		rm.queues.confirm.AddAfter(w.Record.Key, refusedPause)
		return nil
	case err != nil:
		rm.unproven.Drop(*next)
		rm.unproven.Again(w)
		return err
	case deleted:
		rm.reporter.superseded(w, takenBackEvent(w.Object.ID, why))
		rm.queues.confirm.Add(w.Record.Key)
	default:
		rm.unproven.Drop(*next)
	}
	return nil
}

// mayBeResult reports whether live can be the result of a creation without an answer. It compares the release named by
// live with a record that was read after live was observed. If live belongs to another release, it drops the write; if
// the record has changed, it confirms the write again.
func (rm *remediation) mayBeResult(
	ctx context.Context, w lock.Write, r *newestRevision, live *unstructured.Unstructured,
) (bool, error) {
	if live == nil {
		return true, nil
	}
	desired, err := decode(w.Object.Desired)
	if err != nil {
		return false, err
	}
	if judge.ClaimedBy(live) != judge.ClaimedBy(&unstructured.Unstructured{Object: desired}) {
		rm.unproven.Drop(w)
		return false, nil
	}
	newest, found, err := rm.enforcer.Current(ctx, w.Record)
	if err != nil {
		return false, err
	}
	if found != r.found || found && !newest.Same(r.record) {
		rm.queues.confirm.Add(w.Record.Key)
		return false, nil
	}
	return true, nil
}
