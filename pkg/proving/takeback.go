package proving

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/revert"
)

// refusedPause is the time between two attempts to take back an object under the same record after a refused deletion.
const refusedPause = time.Minute

// takeBack deletes the object that a write created, unless it must stay. A deletion is a write like every other: the
// record is read again.
func (pr *Prover) takeBack(ctx context.Context, w lock.Write, r *newestRevision) error {
	if r.record.Contested {
		return nil // nothing tells what Helm relies on; the next change of a record comes back to it
	}
	if w.RefusedUnder.Same(r.record) && pr.Clock.Since(w.RefusedAt) < refusedPause {
		return nil // the queue has the next attempt
	}
	why := "the release is uninstalled"
	if r.isDesired() {
		why = fmt.Sprintf("revision %d does not declare it", r.record.Revision)
	}
	created, lost := w.Made, w.Made == nil
	if lost {
		live, err := pr.Enforcer.Get(ctx, revert.Object(w.Object))
		if err != nil {
			return err
		}
		created = live
		if mine, err := pr.mayBeResult(ctx, w, r, live); err != nil || !mine {
			return err
		}
	}
	switch {
	case created == nil || w.Object.Keep || manifest.Kept(created.GetAnnotations()) ||
		lost && created.GetDeletionTimestamp() != nil:
		pr.Writer.Unproven.Drop(w)
		return nil
	case judge.HoldsData(w.Object.ID.GroupKind()):
		pr.Reporter.Superseded(w, events.HoldsData(w.Object.ID, why))
		pr.Writer.Unproven.Drop(w)
		return nil
	}
	next := &lock.Write{Key: w.Key, Object: w.Object, Record: r.under(w), Deleted: true, Begun: pr.Clock.Now()}
	if !pr.Writer.Unproven.Follow(w, next) {
		return nil
	}
	deleted := false
	_, err := pr.Writer.CarryOut(next, func() (_ *unstructured.Unstructured, err error) {
		deleted, err = pr.Enforcer.TakeBack(ctx, revert.Object(w.Object), created)
		return nil, err
	})
	switch {
	case apierrors.IsForbidden(err):
		if w.RefusedAt.IsZero() { // the same again is no news
			pr.Reporter.Superseded(w, events.NotTakenBack(w.Object.ID, why, err))
		}
		w.RefusedAt, w.RefusedUnder = pr.Clock.Now(), r.record
		pr.Writer.Unproven.Again(w)
		pr.Queues.Confirm.AddAfter(w.Record.Key, refusedPause)
		return nil
	case err != nil:
		pr.Writer.Unproven.Drop(*next)
		pr.Writer.Unproven.Again(w)
		return err
	case deleted:
		pr.Reporter.Superseded(w, events.TakenBack(w.Object.ID, why))
		pr.Queues.Confirm.Add(w.Record.Key)
	default:
		pr.Writer.Unproven.Drop(*next)
	}
	return nil
}

// mayBeResult reports whether live can be the result of a creation without an answer. It compares the release named by
// live with a record that was read after live was observed. If live belongs to another release, it drops the write; if
// the record has changed, it confirms the write again.
func (pr *Prover) mayBeResult(
	ctx context.Context, w lock.Write, r *newestRevision, live *unstructured.Unstructured,
) (bool, error) {
	if live == nil {
		return true, nil
	}
	desired, _, err := w.Object.Declared()
	if err != nil {
		return false, err
	}
	if judge.ClaimedBy(live) != judge.ClaimedBy(&unstructured.Unstructured{Object: desired}) {
		pr.Writer.Unproven.Drop(w)
		return false, nil
	}
	newest, found, err := pr.Enforcer.Current(ctx, w.Record)
	if err != nil {
		return false, err
	}
	if found != r.found || found && !newest.Same(r.record) {
		pr.Queues.Confirm.Add(w.Record.Key)
		return false, nil
	}
	return true, nil
}
