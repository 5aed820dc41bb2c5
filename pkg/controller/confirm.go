package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/revert"
)

const (
	// lostPatience is the time until a write without an answer can no longer be carried out: an API server ends a
	// request after a minute.
	lostPatience = 2 * time.Minute
	// writePatience is the time to remember an unproven write, because of an unreadable record or unfinished work of
	// Helm. Helm takes 5 minutes by default. An older write is not corrected any more: the object and its desired state
	// may have changed since for other reasons.
	writePatience = 10 * time.Minute
)

// holds reports whether the newest record of a locked release is the locked one, as of a moment after the call.
func (rm *remediation) holds(ctx context.Context, l *lock.Lock) (bool, error) {
	begin := rm.Clock.Now()
	holds, err := rm.enforcer.Holds(ctx, l.Record)
	rm.debug(l.Release).WithFields(logrus.Fields{
		"revision": l.Record.Revision, "holds": holds, "took": rm.Clock.Since(begin).String(),
	}).Debug("verified the record")
	return holds, err
}

// write makes one write to an object of a locked release, and schedules its proof. creates is true if the object is a
// new one afterwards.
func (rm *remediation) write(
	ctx context.Context, l *lock.Lock, v *result, creates bool, do writeFunc,
) (*lock.Write, *unstructured.Unstructured, error) {
	w := &lock.Write{Key: l.Key, Object: v.Object, Record: l.Record, Created: creates, Begun: rm.Clock.Now(),
		Manager: v.revert.Creator()}
	if !w.Created {
		undo, err := json.Marshal(drift.MergePatch(v.revert.Target, v.Live.Object))
		if err != nil {
			return nil, nil, fmt.Errorf("encode what the revert of %s undoes: %w", v.ID, err)
		}
		w.Undo, w.Version = undo, v.Live.GetResourceVersion()
	}
	rm.unproven.Begin(w)
	done, err := rm.carryOut(w, func() (*unstructured.Unstructured, error) {
		return do(ctx, enforce.SetID(l.Release), v.revert)
	})
	rm.queues.confirm.Add(l.Release)
	rm.debug(l.Release).WithFields(logrus.Fields{
		"object": v.ID.String(), "created": creates, "done": err == nil, "took": rm.Clock.Since(w.Begun).String(),
	}).Debug("wrote the object")
	return w, done, err
}

// writeFunc is a write method of enforce.Enforcer.
type writeFunc func(ctx context.Context, setID string, r *enforce.Revert) (*unstructured.Unstructured, error)

// carryOut makes a remembered write and records its end. It returns an object together with an error if the content was
// written, and only field ownership is not Helm's yet.
func (c *common) carryOut(
	w *lock.Write, do func() (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	done, err := do()
	// The write itself may have caused the conflict: the transport repeats a request after a broken connection.
	lost := done == nil && (unanswered(err) || !w.Created && !w.Deleted && apierrors.IsConflict(err))
	c.unproven.Answered(w, done, lost)
	if err != nil && done == nil && !lost {
		c.unproven.Failed(w)
	}
	return done, err
}

// toProve schedules the proof of a deletion, if it was carried out or its answer was lost.
func (c *common) toProve(w *lock.Write, lost bool) {
	c.unproven.Begin(w)
	c.unproven.Answered(w, nil, lost)
	c.queues.confirm.Add(w.Record.Key)
}

// nextConfirm proves the writes to one release.
func (rm *remediation) nextConfirm(ctx context.Context, key release.Key) {
	defer rm.queues.confirm.Done(key)
	err := rm.prove(ctx, key)
	if err == nil {
		rm.queues.confirm.Forget(key)
		return
	}
	log := rm.Log.WithField("release", key.String()).Warnf
	if rm.queues.confirm.NumRequeues(key) > 0 { // the same again is no news
		log = rm.Log.WithField("release", key.String()).Debugf
	}
	log("writes around which Helm may have begun to work: %s; trying again", safeError(err))
	rm.queues.confirm.AddRateLimited(key)
}

// lastProofs makes a last attempt to prove the remaining writes when the controller stops.
func (rm *remediation) lastProofs(ctx context.Context) {
	var proofs sync.WaitGroup
	for _, key := range rm.unproven.Releases() {
		proofs.Go(func() {
			if err := rm.prove(ctx, key); err != nil {
				rm.Log.WithField("release", key.String()).Warnf(
					"the operator stops and does not know whether Helm began to work around its last writes: %s",
					safeError(err))
			}
		})
	}
	proofs.Wait()
}

// prove reads the record for all completed writes to a release. It drops those that preceded Helm's next work, and
// corrects the others.
func (rm *remediation) prove(ctx context.Context, key release.Key) error {
	named := map[release.Key][]lock.Write{} // by the release named by the objects: a revision may change it
	for _, w := range slices.DeleteFunc(rm.unproven.Of(key), rm.expired) {
		named[w.Record.As] = append(named[w.Record.As], w)
	}
	var errs []error
	for _, over := range named {
		errs = append(errs, rm.proveAll(ctx, over))
	}
	return errors.Join(errs...)
}

// proveAll is prove for writes with the same record, one at least.
func (rm *remediation) proveAll(ctx context.Context, over []lock.Write) error {
	over, late := rm.withoutLate(ctx, over)
	if len(over) == 0 {
		return late
	}
	newest, found, err := rm.enforcer.Current(ctx, over[0].Record)
	if err != nil {
		return err
	}
	r := &newestRevision{record: newest, found: found}
	over = slices.DeleteFunc(over, func(w lock.Write) bool {
		proven := r.is(w.Record)
		if proven {
			rm.unproven.Drop(w)
		}
		return proven
	})
	if len(over) == 0 {
		return late
	}
	return errors.Join(late, rm.confirmWrites(ctx, over, r))
}

// withoutLate returns the completed writes, and an error if there are others. It reads the objects before the record:
// in the other order, a lost write that takes effect between the two reads would pass for proven.
func (rm *remediation) withoutLate(ctx context.Context, writes []lock.Write) (over []lock.Write, err error) {
	var errs []error
	for _, w := range writes {
		if w.Lost {
			landed, err := rm.applied(ctx, &w)
			if err == nil && !landed && rm.Clock.Since(w.Begun) < lostPatience {
				err = errMayComeLate
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s", w.Object.ID, errorAbout(w.Object.ID, err)))
				continue
			}
		}
		over = append(over, w)
	}
	return over, errors.Join(errs...)
}

// expired drops a write older than writePatience, and reports whether it did.
func (rm *remediation) expired(w lock.Write) bool {
	old := rm.Clock.Since(w.Begun) > writePatience
	if old {
		rm.unproven.Drop(w)
		rm.Log.WithField("object", w.Object.ID.String()).Warnf(
			"a write is not put right any more: for %s nothing has shown whether Helm began to work around it",
			writePatience)
	}
	return old
}

// confirmWrites corrects writes that did not precede Helm's next work, in a slot of the namespace.
func (rm *remediation) confirmWrites(ctx context.Context, over []lock.Write, r *newestRevision) error {
	key := over[0].Record.Key
	if err := rm.loader.mayRead(ctx, key); err != nil {
		return err
	}
	slot, err := rm.slots.loading.Acquire(ctx, key.Namespace)
	if err != nil {
		return err
	}
	defer slot()
	var errs []error
	for i := range over {
		if err := rm.confirmWrite(ctx, over[i], r); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s", over[i].Object.ID, errorAbout(over[i].Object.ID, err)))
		}
	}
	return errors.Join(errs...)
}

// errMayComeLate reports a write that may still be carried out, although its answer was lost.
var errMayComeLate = errors.New("a write whose answer was lost may still be carried out")

// confirmWrite confirms one write, given the newest revision after its answer.
func (rm *remediation) confirmWrite(ctx context.Context, w lock.Write, r *newestRevision) error {
	switch {
	case r.record.Contested && r.record.UID == w.Record.UID:
		// Helm may have begun to work with the other record, the later one: the release was locked before it was
		// contested. The declarations of this record prove nothing. The next change of a record enqueues the write
		// again.
		return nil
	case w.Created && w.Made == nil && r.isDesired(): // it may be Helm's own
	case r.isDesired():
		return rm.amendWrite(ctx, w, r)
	case w.Created:
		return rm.takeBack(ctx, w, r)
	}
	rm.unproven.Drop(w)
	return nil
}

// applied reports whether a write whose answer was lost has been carried out, or has become impossible. A creation is
// impossible while an object of another writer has the name, but possible again after the deletion of this object.
func (rm *remediation) applied(ctx context.Context, w *lock.Write) (bool, error) {
	live, err := rm.enforcer.Get(ctx, revert.Object(w.Object))
	if err != nil {
		return false, err
	}
	if w.Created {
		return live != nil && drift.MadeBy(live.GetManagedFields(), w.Manager), nil
	}
	return live == nil || live.GetResourceVersion() != w.Version, nil
}
