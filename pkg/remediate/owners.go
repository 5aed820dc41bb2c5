package remediate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// An object can claim to belong to another release. The object is left alone if a newest record of the other release
// declares it, and that record is not of a complete uninstallation. Any weaker claim is tampering with the annotations
// and does not release the object from its lock. A record need not be deployed: helm install --take-ownership writes to
// the object while its record has the status pending-install.

// ownership decides whether an object belongs to the other release that it names.
type ownership struct {
	*Options
	// readings are the running reads of other releases' declarations.
	readings sync.WaitGroup
}

// notOwned returns the objects that the release other does not declare; all of them claim to belong to it. It completes
// the rest: as left alone, or to be judged again once the declarations of other are known. It gets the records from the
// API server after the objects were observed, as for our own release: a cache could miss a record that Helm had stored
// by then.
func (ow *ownership) notOwned(ctx context.Context, l *lock.Lock, other release.Key, results []*result) []*result {
	slot, err := ow.Slots.Claims.Acquire(ctx, l.Release.Namespace)
	if err != nil { // the operator stops
		ow.cannotJudge(l, results, err)
		return nil
	}
	for _, v := range results { // before the question: what changes from then on has the objects judged again
		ow.Claims.Add(l, v.ID, other)
	}
	records, err := ow.Others.Owners(ctx, ow.Enforcer.Verifier, other)
	slot()
	if err != nil {
		ow.cannotJudge(l, results, err)
		return nil
	}
	var known []*claims.Declaration
	var unread []release.Record
	waits := false
	for _, rec := range records {
		declared, begin, err := ow.Others.Known.Get(rec)
		switch {
		case err != nil:
			ow.cannotJudge(l, results, err)
			return nil
		case begin:
			unread = append(unread, rec)
		case declared != nil:
			known = append(known, declared)
		default:
			waits = true
		}
	}
	if waits || len(unread) > 0 {
		ow.waitFor(l, other, results)
		if len(unread) > 0 {
			// In a goroutine: records are read in the time of their own namespaces, and nothing of this namespace may
			// wait for them.
			ow.readings.Go(func() { ow.findDeclared(ctx, unread) })
		}
		return nil
	}
	return ow.unclaimed(l, ow.ownedByNone(l, other, known, results))
}

// ownedByNone completes the objects with a declaration in a record of the release they name, and returns the others.
func (ow *ownership) ownedByNone(
	l *lock.Lock, named release.Key, known []*claims.Declaration, results []*result,
) (rest []*result) {
	for _, v := range results {
		at := slices.IndexFunc(known, func(d *claims.Declaration) bool { return d.Owns(named, v.ID) })
		if at < 0 {
			rest = append(rest, v)
			continue
		}
		ow.complete(l, v.Work, lock.Outcome{Reported: true, Digest: v.Digest,
			Problem: &lock.Problem{Reason: v1alpha1.ReasonConflict,
				Message: fmt.Sprintf("belongs to Helm release %s, whose manifest declares it too; left alone",
					known[at].Release())}})
	}
	return rest
}

// unclaimed drops the claims of the objects of another release: they do not concern it.
func (ow *ownership) unclaimed(l *lock.Lock, results []*result) []*result {
	for _, v := range results {
		ow.Claims.Remove(l, v.ID)
	}
	return results
}

// cannotJudge has objects judged again later, because it is not known whether another release declares them.
func (ow *ownership) cannotJudge(l *lock.Lock, results []*result, err error) {
	for _, v := range ow.unclaimed(l, results) {
		again := v.Observation
		ow.complete(l, v.Work, lock.Outcome{Again: &again, Failed: true, Transient: apierror.Transient(err),
			Problem: problemOf(v.ID, err, true)})
	}
}

// waitFor has objects wait until a change of the record or findDeclared has them judged again.
func (ow *ownership) waitFor(l *lock.Lock, other release.Key, results []*result) {
	for _, v := range results {
		again := v.Observation
		problem := v.driftProblem()
		problem.Message += fmt.Sprintf("; it says that it belongs to Helm release %s, whose record is being read",
			other)
		ow.complete(l, v.Work, lock.Outcome{Again: &again, Waits: true, Problem: problem})
	}
}

// findDeclared reads the declared objects of some records of one name, each in the time and with the slots of its own
// namespace. It then enqueues the objects that wait for the result. A damaged record declares nothing.
func (ow *ownership) findDeclared(ctx context.Context, records []release.Record) {
	for _, rec := range records {
		var found *claims.Declaration
		err := ow.Budget.Await(ctx, rec.Key)
		if err == nil {
			found, err = ow.Loader.Declared(ctx, rec)
		}
		switch {
		case apierrors.IsForbidden(err): // as when its records are out of sight
			found = claims.NoDeclaration(rec)
		case err != nil:
			found = claims.FailedDeclaration(rec, err)
		}
		ow.Others.Known.Put(found)
	}
	ow.wake(records[0].Key.Name, func(release.Key) bool { return true })
}

// wake enqueues the matching objects with a claim on a release of the given name.
func (ow *ownership) wake(name string, match func(release.Key) bool) {
	for l, ids := range ow.Claims.Take(name, match) {
		if l.Reconsider(ow.Clock.Now(), ids) {
			ow.Queues.Drift.Add(l.Key)
		}
	}
}

// recordChanged enqueues the objects with a claim on a release of changed records.
func (ow *ownership) recordChanged(key release.Key) {
	ow.wake(key.Name, func(named release.Key) bool { return named == key || ow.Others.Known.MayBeOf(key, named) })
	if !ow.Claims.Wanted(key.Name) {
		ow.Others.Known.Forget(key)
	}
}
