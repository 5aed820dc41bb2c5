package remediate

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/salvage"
	"github.com/rancher/helm-locker/pkg/watch"
)

// reverter reverts drift: by an update, a creation, a part of the update, or a replacement.
type reverter struct{ *Options }

// restored records a revert and learns the API server's form of the desired state from its result. With an error, Helm
// does not own all of the object yet, and it is judged again.
func (rv *reverter) restored(
	l *lock.Lock, v *result, done *unstructured.Unstructured, action v1alpha1.DriftAction, err error,
) {
	good := lock.Outcome{
		Good: true, Digest: rv.Hasher.Digest(done.Object), Version: watch.Version(done), Owner: v.Found.Owner,
		Baseline: v.in.Restored(v.Found, done), Chosen: v.in.ChosenIn(done),
		Additions: v.in.HasAdditions(v.Found, done),
	}
	switch {
	case err != nil:
		rv.Log.WithField("object", v.ID.String()).Debugf("field ownership after a revert: %s",
			apierror.About(v.ID.GroupKind(), err))
		good = lock.Outcome{Again: v.readAgain(), Failed: true, Transient: apierror.Transient(err),
			Problem: problemOf(v.ID, err, true)}
	case isFinalized(done), v.unknown != nil:
		good = lock.Outcome{Again: v.readAgain()}
	}
	if v.revert.Unfinished { // the revert was recorded when its content was written
		rv.complete(l, v.Work, good)
		return
	}
	fight := l.RecordRevert(v.ID, v.Seen, rv.Clock.Now(), v.contested())
	rv.complete(l, v.Work, rv.deleting(l, v.Work, done, good))
	rv.Reporter.Record(l, &v.Drift, action)
	rv.retryNamespace(v.Work)
	if fight {
		rv.Reporter.Fight(l, &v.Drift)
	}
}

// report records drift without a revert.
func (rv *reverter) report(l *lock.Lock, v *result) {
	p := v.driftProblem()
	outcome := lock.Outcome{Reported: true, Digest: v.Digest, Problem: p}
	if v.Live != nil {
		outcome.Additions = v.in.HasAdditions(v.Found, v.Live)
	}
	if v.Live != nil && len(v.Found.Changes) == 0 { // its deletion is pending, and its content is as declared
		outcome.Good, outcome.Version, outcome.Baseline, outcome.Owner = true, v.Version, v.Found.Baseline,
			v.Found.Owner
	}
	rv.complete(l, v.Work, outcome)
	if l.Doubt != "" {
		return // nothing shows that the difference is drift
	}
	if v.Before != nil && *v.Before == *p {
		return // the same drift, and something else about the object changed: a controller's annotation, say
	}
	rv.Reporter.Record(l, &v.Drift, v1alpha1.DriftActionReported)
}

// refused records a failed revert, and schedules another attempt.
func (rv *reverter) refused(ctx context.Context, l *lock.Lock, v *result, err error) {
	if errors.Is(err, context.Canceled) {
		l.Done(v.ID, lock.Outcome{Again: v.readAgain(), Now: rv.Clock.Now()})
		return
	}
	if apierror.Disconnected(err) {
		rv.Log.WithField(
			"object", v.ID.String(),
		).Warnf("the API server did not answer a revert, which is tried again: %v", err)
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain(), Failed: true, Transient: true,
			Problem: v.driftProblem()})
		return
	}
	p, refusal := v.Before, v.refusalBy(err)
	if p == nil || !v.isRefusedAlike() { // the problem of before may name the refused fields
		p = rv.refusalOf(ctx, l, v, err)
	}
	if log := rv.Log.WithField("object", v.ID.String()); v.Failures == 0 {
		log.Warnf("revert refused: %s", p.Message)
	} else {
		log.Debugf("revert refused for the %d. time: %s", v.Failures+1, p.Message)
	}
	rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain(), Failed: true, Transient: apierror.Transient(err),
		Problem: p, Refused: refusal})
	if v.Failures > 0 { // the same refusal again is no news
		rv.Ledger.Update(l.Key, func(*ledger.Entry) { rv.Metrics.Failed(l.Release, v.ID.Kind) })
		return
	}
	rv.Reporter.Record(l, &v.Drift, v1alpha1.DriftActionRefused)
	rv.Reporter.Event(rv.Roster.Get(l.Key), events.Refused(&v.Drift, p))
}

// postpone returns objects to the lock because the record is not the locked one, or, with an error, because that is
// unknown. The event that ends the lock is on its way. The wait keeps this from spinning if it is not.
func (rv *reverter) postpone(l *lock.Lock, drifted []*result, err error) {
	for _, v := range drifted {
		again := v.Observation
		p := v.driftProblem()
		if err != nil {
			p = problemOf(v.ID, err, true)
		}
		rv.complete(l, v.Work, lock.Outcome{Again: &again, Failed: true, Transient: true, Problem: p})
	}
	if err != nil {
		rv.Log.WithField(
			"release", l.Release.String(),
		).Warnf("cannot determine whether Helm is at work, so nothing is reverted: %v", err)
		return
	}
	rv.Ledger.Update(l.Key, func(*ledger.Entry) { rv.Metrics.Yielded(l.Release) })
	rv.Log.WithField("release", l.Release.String()).Debug("Helm has begun to work; leaving its objects alone")
	rv.Roster.Enqueue(l.Release)
}

// refusalOf describes the reason of a refused revert, and the remedy where a field is immutable.
func (rv *reverter) refusalOf(ctx context.Context, l *lock.Lock, v *result, err error) *lock.Problem {
	p := problemOf(v.ID, err, true)
	switch {
	case !salvage.RefusesContent(err):
	case v.Live == nil:
		p.Refused = lock.RefusedObject
	default:
		p.Refused = lock.RefusedFields
	}
	if len(v.refused) > 0 {
		p.Message = fmt.Sprintf("%s cannot be restored, all else is protected: %s",
			drift.Describe(v.refused, plain.MaxNamed), p.Message)
	}
	if v.Found.Deletion != "" {
		p.Message += "; " + plain.Line(v.Found.Deletion)
		return p
	}
	if v.Live == nil || !apierrors.IsInvalid(err) || !rv.Enforcer.Immutable(ctx, v.revert) {
		return p
	}
	loses, replaceable := enforce.Replaceable(v.ID.GroupKind())
	switch {
	case !replaceable:
		p.Message += fmt.Sprintf(
			"; a %s is never replaced by the operator: restore it by hand or by helm upgrade --force", v.ID.Kind,
		)
	case !l.ReplaceImmutable:
		p.Message += "; with spec.replaceImmutable, or when you delete it, the object is re-created"
		if loses != "" {
			p.Message += ", which loses " + loses
		}
	}
	return p
}

// retryNamespace re-creates the objects of every release in a re-created Namespace w at once. They were deleted with
// it, and the API server refused each attempt to create them during its deletion.
func (rv *reverter) retryNamespace(w *lock.Work) {
	if w.ID.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		return
	}
	for _, l := range rv.Table.Locks() {
		if l.Retry(func(o *lock.Object) bool { return o.ID.Namespace == w.ID.Name }) {
			rv.Queues.Drift.Add(l.Key)
		}
	}
}
