package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// An object may say that it belongs to another release. If that one has a newest record that is not of an
// uninstallation that is over, and does declare the object, the object is left alone. Anything less is tampering
// with the annotations: they are no way out of the lock. A record that is not deployed counts, too: helm install
// --take-ownership writes to the object while its record says pending-install.

// newestOf returns the newest record of the release that objects of l say they belong to, false when there is none
// that counts. What an object says is a name and the namespace of the objects. A release whose records are in that
// very namespace is meant first, and only without one a release whose records are elsewhere and that has been
// locked: a tenant that may write records in one namespace must not speak for the releases of another.
func (rm *remediation) newestOf(
	ctx context.Context, l *lock.Lock, other release.Key, results []*result,
) (release.Record, bool, error) {
	rm.claimed(l, results, other)
	rec, found, err := rm.newestUncontested(ctx, other)
	if err != nil || found && rec.Status != release.StatusUninstalled {
		return rec, found, err
	}
	if other == l.As { // that is what objects of l say; no record in a third namespace may say otherwise
		return release.Record{}, false, nil
	}
	elsewhere := rm.entries.storedElsewhere(other)
	if elsewhere == (release.Key{}) {
		return release.Record{}, false, nil
	}
	rm.claimed(l, results, other, elsewhere)
	rec, found, err = rm.newestUncontested(ctx, elsewhere)
	return rec, found && rec.Status != release.StatusUninstalled, err
}

// newestUncontested is Newest for a release of which it must be known which record counts.
func (rm *remediation) newestUncontested(ctx context.Context, other release.Key) (release.Record, bool, error) {
	rec, found, err := rm.enforcer.Newest(ctx, other)
	if rec.Contested {
		err = fmt.Errorf("release %s has records in Secrets and in ConfigMaps, and nothing tells which count", other)
	}
	return rec, found, err
}

// claimed records which releases objects may mean that say they belong to another one. It comes before the questions
// about the records of these: whatever changes from then on has the objects judged again.
func (rm *remediation) claimed(l *lock.Lock, results []*result, others ...release.Key) {
	for _, v := range results {
		rm.claims.add(l, v.ID, others...)
	}
}

// notOwned returns those of the objects, which all say that they belong to the release other, that it does not
// declare. The others are completed: as left alone, or to be judged again when it is known what other declares. The
// record is asked for after the objects were observed, and not taken from a cache, for the same reason as our own
// is: what Helm had stored by then must not be missed.
func (rm *remediation) notOwned(ctx context.Context, l *lock.Lock, other release.Key, results []*result) []*result {
	slot, err := rm.slots.claims.Acquire(ctx, l.Release.Namespace)
	if err != nil { // the operator stops
		rm.cannotTell(l, results, err)
		return nil
	}
	rec, found, err := rm.newestOf(ctx, l, other, results)
	slot()
	switch {
	case ownsNothing(err):
		return rm.unclaimed(l, results)
	case err != nil:
		rm.cannotTell(l, results, err)
		return nil
	case !found:
		return rm.unclaimed(l, results)
	}
	other = rec.Key
	declared, begin, err := rm.declared.get(rec)
	if err != nil {
		rm.cannotTell(l, results, err)
		return nil
	}
	if declared == nil {
		rm.waitFor(l, other, results)
		if begin {
			// Beside this: the record is read in the time of its own namespace, and nothing of this one may wait
			// for that.
			rm.readings.Go(func() { rm.findDeclared(ctx, rec) })
		}
		return nil
	}
	var rest []*result
	for _, v := range results {
		if declared.has(v.ID) {
			rm.complete(l, v.Work, lock.Outcome{Reported: true, Digest: v.Digest,
				Problem: &lock.Problem{Reason: v1alpha1.ReasonConflict,
					Message: fmt.Sprintf("belongs to Helm release %s, whose manifest declares it too; left alone",
						other)}})
			continue
		}
		rest = append(rest, v)
	}
	return rm.unclaimed(l, rest)
}

// ownsNothing reports whether an error of reading the records of a release means that no object belongs to it: they
// are out of the operator's sight, or what claims to be one is not as Helm writes it. Naming such a release would be a
// way out of the lock otherwise.
func ownsNothing(err error) bool {
	return apierrors.IsForbidden(err) || errors.Is(err, release.ErrRecord)
}

// unclaimed forgets what objects say of another release, which is nothing to that.
func (rm *remediation) unclaimed(l *lock.Lock, results []*result) []*result {
	for _, v := range results {
		rm.claims.remove(l, v.ID)
	}
	return results
}

// cannotTell has objects judged again later, because it is not known whether another release declares them.
func (rm *remediation) cannotTell(l *lock.Lock, results []*result, err error) {
	for _, v := range rm.unclaimed(l, results) {
		again := v.Observation
		rm.complete(l, v.Work, lock.Outcome{Again: &again, Failed: true, Transient: transient(err),
			Problem: problemOf(v.ID, err, true)})
	}
}

// waitFor has objects wait until recordChanged or findDeclared has them judged again.
func (rm *remediation) waitFor(l *lock.Lock, other release.Key, results []*result) {
	for _, v := range results {
		again := v.Observation
		problem := rm.driftProblem(v)
		problem.Message += fmt.Sprintf("; it says that it belongs to Helm release %s, whose record is being read",
			other)
		rm.complete(l, v.Work, lock.Outcome{Again: &again, Waits: true, Problem: problem})
	}
}

// findDeclared reads which objects a record declares, in the time and with the slots of its own namespace, and has
// the objects judged again that wait for that. A damaged record declares nothing.
func (rm *remediation) findDeclared(ctx context.Context, rec release.Record) {
	var found *declaration
	err := rm.loader.mayRead(ctx, rec.Key)
	if err == nil {
		found, err = rm.loader.declaredBy(ctx, rec)
	}
	switch {
	case apierrors.IsForbidden(err): // as when its records are out of sight
		found = &declaration{record: rec}
	case err != nil:
		found = &declaration{record: rec, err: err}
	}
	rm.declared.put(found)
	rm.wake(rec.Key)
}

// wake has the objects judged again that say they belong to a release.
func (rm *remediation) wake(other release.Key) {
	for l, ids := range rm.claims.take(other) {
		if l.Reconsider(rm.Clock.Now(), ids) {
			rm.queues.drift.Add(l.Key)
		}
	}
}

// recordChanged has the objects judged again that say they belong to a release whose records have changed.
func (rm *remediation) recordChanged(key release.Key) {
	rm.wake(key)
	if !rm.claims.wanted(key) {
		rm.declared.forget(key)
	}
}
