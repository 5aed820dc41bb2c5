package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// lostPatience is how long a write whose answer was lost may still be carried out: an API server ends a request
// after a minute.
const lostPatience = 2 * time.Minute

// holds reports whether the newest record of a locked release is the locked one, as of a moment after the call.
// When it is, that proves the earlier writes, too.
func (rm *remediation) holds(ctx context.Context, l *lock.Lock) (bool, error) {
	passed, begin := rm.unproven.Check(), rm.Clock.Now()
	holds, err := rm.enforcer.Holds(ctx, l.Record)
	if holds && err == nil {
		passed(l.Record)
	}
	rm.debug(l.Release).WithFields(logrus.Fields{
		"revision": l.Record.Revision, "holds": holds, "took": rm.Clock.Since(begin).String(),
	}).Debug("verified the record")
	return holds, err
}

// write makes one write to an object of a locked release and keeps it in mind until the record was read again.
// creates says that the object is a new one afterwards.
func (rm *remediation) write(
	ctx context.Context, l *lock.Lock, v *result, creates bool, do writeFunc,
) (*lock.Write, *unstructured.Unstructured, error) {
	w := &lock.Write{Key: l.Key, Object: v.Object, Record: l.Record, Created: creates, Begun: rm.Clock.Now()}
	if !w.Created {
		undo, err := json.Marshal(drift.MergePatch(v.revert.Target, v.Live.Object))
		if err != nil {
			return nil, nil, fmt.Errorf("encode what the revert of %s undoes: %w", v.ID, err)
		}
		w.Undo, w.Version = undo, v.Live.GetResourceVersion()
	}
	done, err := rm.track(w, func() (*unstructured.Unstructured, error) {
		return do(ctx, enforce.SetID(l.Release), v.revert)
	})
	rm.debug(l.Release).WithFields(logrus.Fields{
		"object": v.ID.String(), "created": creates, "done": err == nil, "took": rm.Clock.Since(w.Begun).String(),
	}).Debug("wrote the object")
	if l.Closed() && !creates { // creations are confirmed by the caller
		rm.queues.confirm.Add(l.Release)
	}
	return w, done, err
}

// writeFunc is a method of enforce.Enforcer that writes.
type writeFunc func(ctx context.Context, setID string, r *enforce.Revert) (*unstructured.Unstructured, error)

// track makes a write and keeps it in mind.
func (rm *remediation) track(
	w *lock.Write, do func() (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	rm.unproven.Begin(w)
	return rm.carryOut(w, do)
}

// carryOut makes a write that is kept in mind and records how it ended. One that was refused may have landed in part.
func (rm *remediation) carryOut(
	w *lock.Write, do func() (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	done, err := do()
	lost := done == nil && unanswered(err)
	full := rm.unproven.Answered(w, done, lost)
	if w.Created && done == nil && !lost {
		rm.unproven.Drop(*w) // it was not created
	}
	if full || lost {
		rm.queues.confirm.Add(w.Record.Key)
	}
	return done, err
}

// confirm reports whether an object that was just created may stay, as far as that is known now. Whatever takes
// long or has to be tried again is left to the workers of confirmQueue.
func (rm *remediation) confirm(ctx context.Context, w *lock.Write) (stays bool) {
	passed := rm.unproven.Check()
	newest, found, err := rm.enforcer.Newest(ctx, w.Record.Key)
	switch {
	case err != nil:
		rm.Log.WithField(
			"object", w.Object.ID.String(),
		).Warnf("cannot tell whether Helm is at work after a creation: %s; asking again", safeError(err))
	case found && newest.Same(w.Record):
		passed(w.Record)
		return true
	case !(&newestRevision{record: newest, found: found}).counts():
		if err := rm.takeBack(ctx, *w, &newestRevision{record: newest, found: found}); err != nil {
			rm.Log.WithField("object", w.Object.ID.String()).Warnf("%s; trying again", errorAbout(w.Object.ID, err))
		}
	}
	rm.queues.confirm.AddRateLimited(w.Record.Key)
	return err != nil
}

// nextConfirm confirms the writes to one release, in a slot of its namespace.
func (rm *remediation) nextConfirm(ctx context.Context, key release.Key) {
	defer rm.queues.confirm.Done(key)
	if !rm.leading.Load() || len(rm.unproven.Of(key)) == 0 { // Lead comes back to it
		rm.queues.confirm.Forget(key)
		return
	}
	if rm.loader.mayRead(ctx, key) != nil { // the operator stops
		return
	}
	slot, err := rm.slots.loading.Acquire(ctx, key.Namespace)
	if err != nil {
		return
	}
	defer slot()
	if err := rm.confirmWrites(ctx, key); err != nil {
		log := rm.Log.WithField("release", key.String()).Warnf
		if rm.queues.confirm.NumRequeues(key) > 0 { // the same again is no news
			log = rm.Log.WithField("release", key.String()).Debugf
		}
		log("writes around which Helm began to work: %s; trying again", safeError(err))
		rm.queues.confirm.AddRateLimited(key)
		return
	}
	rm.queues.confirm.Forget(key)
}

// confirmWrites finds out whether the writes to a release came before Helm's next work, and corrects those that did
// not.
func (rm *remediation) confirmWrites(ctx context.Context, key release.Key) error {
	over := rm.unproven.Of(key)
	if len(over) == 0 {
		return nil
	}
	newest, found, err := rm.enforcer.Newest(ctx, key)
	if err != nil {
		return err
	}
	r := &newestRevision{record: newest, found: found}
	var errs []error
	for i := range over {
		if err := rm.confirmWrite(ctx, over[i], r); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s", over[i].Object.ID, errorAbout(over[i].Object.ID, err)))
		}
	}
	return errors.Join(errs...)
}

// errMayComeLate says that a write whose answer was lost has not been carried out yet.
var errMayComeLate = errors.New("a write whose answer was lost may still be carried out")

// confirmWrite confirms one write, given what is the newest revision since it was answered.
func (rm *remediation) confirmWrite(ctx context.Context, w lock.Write, r *newestRevision) error {
	if w.Lost {
		landed, err := rm.landed(ctx, &w)
		if err != nil {
			return err
		}
		if !landed && rm.Clock.Since(w.Begun) < lostPatience {
			return errMayComeLate
		}
	}
	switch {
	case r.is(w.Record):
	case r.record.Contested && r.record.UID == w.Record.UID:
		// Helm may have begun to work with the other record, which came later: the release was locked before it
		// was contested. What this record declares says nothing. The next change of a record comes back to the write.
		return nil
	case w.Created && w.Made == nil && r.counts(): // it may be Helm's own
	case r.counts():
		return rm.amendWrite(ctx, w, r)
	case w.Created:
		return rm.takeBack(ctx, w, r)
	}
	rm.unproven.Drop(w)
	return nil
}

// landed reports whether a write whose answer was lost has been carried out, or cannot be any more. For a creation
// it sets Made to what exists, if it may be taken back: it may be Helm's own, and then Helm may have kept it.
func (rm *remediation) landed(ctx context.Context, w *lock.Write) (bool, error) {
	live, err := rm.enforcer.Look(ctx, w.Object)
	if err != nil {
		return false, err
	}
	if !w.Created {
		return live == nil || live.GetResourceVersion() != w.Version, nil
	}
	return live != nil, nil
}

// takeBack deletes what a write created, unless that must not be. A deletion is a write like every other: the
// record is read again.
func (rm *remediation) takeBack(ctx context.Context, w lock.Write, r *newestRevision) error {
	if r.record.Contested {
		return nil // nothing tells what Helm relies on; the next change of a record comes back to it
	}
	why := "the release is uninstalled"
	if r.counts() {
		why = fmt.Sprintf("revision %d does not declare it", r.record.Revision)
	}
	created, lost := w.Made, w.Made == nil
	if lost {
		live, err := rm.enforcer.Look(ctx, w.Object)
		if err != nil {
			return err
		}
		created = live
		if mine, err := rm.stillLost(ctx, w, r, live); err != nil || !mine {
			return err
		}
	}
	switch {
	case created == nil || w.Object.Keep || manifest.Kept(created.GetAnnotations()) ||
		lost && created.GetDeletionTimestamp() != nil:
		rm.unproven.Drop(w)
		return nil
	case judge.HoldsData(w.Object.ID.GroupKind()):
		rm.reporter.overtaken(w, holdsDataEvent(w.Object.ID, why))
		rm.unproven.Drop(w)
		return nil
	}
	next := &lock.Write{Key: w.Key, Object: w.Object, Record: r.record, Deleted: true, Begun: rm.Clock.Now()}
	next.Record.Key = w.Record.Key // also where there is no record
	if !rm.unproven.Follow(w, next) {
		// Of two deletions at a time neither would know whether it took what Helm has made meanwhile.
		return nil
	}
	deleted := false
	_, err := rm.carryOut(next, func() (_ *unstructured.Unstructured, err error) {
		deleted, err = rm.enforcer.TakeBack(ctx, w.Object, created)
		return nil, err
	})
	switch {
	case apierrors.IsForbidden(err):
		rm.unproven.Drop(*next)
		rm.reporter.overtaken(w, notTakenBackEvent(w.Object.ID, why, err))
	case err != nil:
		rm.unproven.Begin(&w) // try again
		return err
	case deleted:
		rm.reporter.overtaken(w, takenBackEvent(w.Object.ID, why))
		rm.queues.confirm.Add(w.Record.Key)
	default:
		rm.unproven.Drop(*next)
	}
	return nil
}

// stillLost reports whether live may be what a creation made whose answer was lost, as far as what it says of its
// release and a record that was read after it was observed can tell. If it is another release's, the write is
// dropped; if the record has changed, the write is confirmed again.
func (rm *remediation) stillLost(
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
	newest, found, err := rm.enforcer.Newest(ctx, w.Record.Key)
	if err != nil {
		return false, err
	}
	if found != r.found || found && !newest.Same(r.record) {
		rm.queues.confirm.Add(w.Record.Key)
		return false, nil
	}
	return true, nil
}
