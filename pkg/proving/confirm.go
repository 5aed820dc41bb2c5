// Package proving reads the record again after each write, and corrects the writes that Helm may have overtaken.
package proving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/revert"
)

// Next proves the writes to one release.
func (pr *Prover) Next(ctx context.Context, key release.Key) {
	defer pr.Queues.Confirm.Done(key)
	err := pr.prove(ctx, key)
	if err == nil {
		pr.Queues.Confirm.Forget(key)
		return
	}
	log := pr.Log.WithField("release", key.String()).Warnf
	if pr.Queues.Confirm.NumRequeues(key) > 0 { // the same again is no news
		log = pr.Log.WithField("release", key.String()).Debugf
	}
	log("writes around which Helm may have begun to work: %s; trying again", apierror.Safe(err))
	pr.Queues.Confirm.AddRateLimited(key)
}

// Last makes a last attempt to prove the remaining writes when the controller stops.
func (pr *Prover) Last(ctx context.Context) {
	var proofs sync.WaitGroup
	for _, key := range pr.Writer.Unproven.Releases() {
		proofs.Go(func() {
			if err := pr.prove(ctx, key); err != nil {
				pr.Log.WithField("release", key.String()).Warnf(
					"the operator stops and does not know whether Helm began to work around its last writes: %s",
					apierror.Safe(err))
			}
		})
	}
	proofs.Wait()
}

// prove reads the record for all completed writes to a release. It drops those that preceded Helm's next work, and
// corrects the others.
func (pr *Prover) prove(ctx context.Context, key release.Key) error {
	named := map[release.Key][]lock.Write{} // by the release named by the objects: a revision may change it
	for _, w := range slices.DeleteFunc(pr.Writer.Unproven.Of(key), pr.expired) {
		named[w.Record.As] = append(named[w.Record.As], w)
	}
	var errs []error
	for _, over := range named {
		errs = append(errs, pr.proveAll(ctx, over))
	}
	return errors.Join(errs...)
}

// proveAll is prove for writes with the same record, one at least.
func (pr *Prover) proveAll(ctx context.Context, over []lock.Write) error {
	over, late := pr.withoutLate(ctx, over)
	if len(over) == 0 {
		return late
	}
	newest, found, err := pr.Enforcer.Current(ctx, over[0].Record)
	if err != nil {
		return err
	}
	r := &newestRevision{record: newest, found: found}
	over = slices.DeleteFunc(over, func(w lock.Write) bool {
		proven := r.is(w.Record)
		if proven {
			pr.Writer.Unproven.Drop(w)
		}
		return proven
	})
	if len(over) == 0 {
		return late
	}
	return errors.Join(late, pr.confirmWrites(ctx, over, r))
}

// withoutLate returns the completed writes, and an error if there are others. It reads the objects before the record:
// in the other order, a lost write that takes effect between the two reads would pass for proven.
func (pr *Prover) withoutLate(ctx context.Context, writes []lock.Write) (over []lock.Write, err error) {
	var errs []error
	for _, w := range writes {
		if w.Lost {
			landed, err := pr.applied(ctx, &w)
			if err == nil && !landed && pr.Clock.Since(w.Begun) < lostPatience {
				err = errMayComeLate
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s", w.Object.ID, apierror.About(w.Object.ID.GroupKind(), err)))
				continue
			}
		}
		over = append(over, w)
	}
	return over, errors.Join(errs...)
}

// expired drops a write older than writePatience, and reports whether it did.
func (pr *Prover) expired(w lock.Write) bool {
	old := pr.Clock.Since(w.Begun) > writePatience
	if old {
		pr.Writer.Unproven.Drop(w)
		pr.Log.WithField("object", w.Object.ID.String()).Warnf(
			"a write is not put right any more: for %s nothing has shown whether Helm began to work around it",
			writePatience)
	}
	return old
}

// confirmWrites corrects writes that did not precede Helm's next work, in a slot of the namespace.
func (pr *Prover) confirmWrites(ctx context.Context, over []lock.Write, r *newestRevision) error {
	key := over[0].Record.Key
	if err := pr.Budget.Await(ctx, key); err != nil {
		return err
	}
	slot, err := pr.Slots.Loading.Acquire(ctx, key.Namespace)
	if err != nil {
		return err
	}
	defer slot()
	var errs []error
	for i := range over {
		if err := pr.confirmWrite(ctx, over[i], r); err != nil {
			id := over[i].Object.ID
			errs = append(errs, fmt.Errorf("%s: %s", id, apierror.About(id.GroupKind(), err)))
		}
	}
	return errors.Join(errs...)
}

// errMayComeLate reports a write that may still be carried out, although its answer was lost.
var errMayComeLate = errors.New("a write whose answer was lost may still be carried out")

// confirmWrite confirms one write, given the newest revision after its answer.
func (pr *Prover) confirmWrite(ctx context.Context, w lock.Write, r *newestRevision) error {
	switch {
	case r.record.Contested && r.record.UID == w.Record.UID:
		// Helm may have begun to work with the other record, the later one: the release was locked before it was
		// contested. The declarations of this record prove nothing. The next change of a record enqueues the write
		// again.
		return nil
	case w.Created && w.Made == nil && r.isDesired(): // it may be Helm's own
	case r.isDesired():
		return pr.amendWrite(ctx, w, r)
	case w.Created:
		return pr.takeBack(ctx, w, r)
	}
	pr.Writer.Unproven.Drop(w)
	return nil
}

// applied reports whether a write whose answer was lost has been carried out, or has become impossible. A creation is
// impossible while an object of another writer has the name, but possible again after the deletion of this object.
func (pr *Prover) applied(ctx context.Context, w *lock.Write) (bool, error) {
	live, err := pr.Enforcer.Get(ctx, revert.Object(w.Object))
	if err != nil {
		return false, err
	}
	if w.Created {
		return live != nil && drift.MadeBy(live.GetManagedFields(), w.Manager), nil
	}
	return live == nil || live.GetResourceVersion() != w.Version, nil
}
