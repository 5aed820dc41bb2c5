package remediate

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/writing"
)

// reverter reverts drift: by an update, a creation, a part of the update, or a replacement.
type reverter struct{ *Options }

// act reverts drifted objects in an order that undoes no write of Helm's. The objects were observed. Now act reads the
// record, then writes with the observed versions, and proves each write.
func (rv *reverter) act(ctx context.Context, l *lock.Lock, drifted []*result) {
	for _, v := range drifted {
		v.Attribute()
	}
	if l.Detect {
		for _, v := range drifted {
			rv.report(l, v)
		}
		return
	}
	if !rv.Leading.Load() {
		// A standby keeps its observations, and sends no request about them. Lead makes workers handle them.
		for _, v := range drifted {
			again := v.Observation
			if l.Done(v.ID, lock.Outcome{Again: &again, Waits: true, Problem: v.driftProblem(),
				Now: rv.Clock.Now()}) {
				rv.Queues.Drift.Add(l.Key)
			}
		}
		if rv.Leading.Load() && l.Resume() { // since a moment ago: Lead may have come too early for these
			rv.Queues.Drift.Add(l.Key)
		}
		return
	}
	if holds, err := rv.Writer.Holds(ctx, l); err != nil || !holds {
		rv.postpone(l, drifted, err)
		return
	}
	var creations []*result
	var writes sync.WaitGroup
	for _, v := range drifted {
		if v.Live == nil {
			creations = append(creations, v)
			continue
		}
		rv.Slots.Parallel(ctx, l.Release, &writes, func() { rv.update(ctx, l, v) })
	}
	rv.recreate(ctx, l, creations)
	writes.Wait()
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

// update puts one existing object back.
func (rv *reverter) update(ctx context.Context, l *lock.Lock, v *result) {
	ctx, cancel := writing.Outlast(ctx)
	defer cancel()
	rv.writeAsHelm(ctx, l, v)
	_, restored, err := rv.Writer.Write(ctx, l, v.target(), false, rv.Enforcer.Revert)
	switch {
	case restored != nil:
		rv.restored(l, v, restored, v1alpha1.DriftActionReverted, err)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// Another writer came in between, perhaps Helm: get the object and begin again.
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain()})
	default:
		rv.salvage(ctx, l, v, err)
	}
}

// recreate re-creates objects: first namespaces, then definitions, because others need them, then the rest
// concurrently.
func (rv *reverter) recreate(ctx context.Context, l *lock.Lock, results []*result) {
	for rank := range 3 {
		var writes sync.WaitGroup
		for _, v := range results {
			if creationRank(v.ID) == rank {
				rv.Slots.Parallel(ctx, l.Release, &writes, func() { rv.create(ctx, l, v) })
			}
		}
		writes.Wait()
	}
}

// create creates one object again.
func (rv *reverter) create(ctx context.Context, l *lock.Lock, v *result) {
	ctx, cancel := writing.Outlast(ctx)
	defer cancel()
	rv.writeAsHelm(ctx, l, v)
	_, made, err := rv.Writer.Write(ctx, l, v.target(), true, rv.Enforcer.Revert)
	if made == nil {
		rv.notCreated(ctx, l, v, err)
		return
	}
	rv.restored(l, v, made, v1alpha1.DriftActionRecreated, err)
}

func creationRank(id manifest.ID) int {
	switch {
	case id.Group == "" && id.Kind == "Namespace":
		return 0
	case id.Group == "apiextensions.k8s.io" && id.Kind == "CustomResourceDefinition":
		return 1
	}
	return 2
}

func (rv *reverter) notCreated(ctx context.Context, l *lock.Lock, v *result, err error) {
	switch {
	case apierror.Unanswered(err):
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain(), Failed: true, Transient: true,
			Problem: v.driftProblem()})
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain()})
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain(), Failed: true, Problem: &lock.Problem{
			Reason: v1alpha1.ReasonBeingDeleted, Message: "its namespace is being deleted; it is re-created in the " +
				"next one", Drifted: true,
		}})
	case apierrors.IsNotFound(err):
		// The namespace or the kind is missing. A removed kind has to wait for its definition. Objects in a missing
		// namespace stay in memory: a tenant can keep them there as long as it likes.
		if !apierror.NamespaceMissing(err) {
			rv.Kinds.Rediscover()
			rv.Ledger.Update(l.Key, func(e *ledger.Entry) { e.Reload = e.Reload || !rv.served(v) })
			rv.Queues.Releases.Add(l.Key)
		}
		rv.refused(ctx, l, v, err)
	case v.ReportedGone:
		// It may exist without Helm's label: a Service's ports are refused as taken before its name is.
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain()})
	default:
		rv.refused(ctx, l, v, err)
	}
}

func (rv *reverter) served(v *result) bool {
	_, err := rv.Kinds.Get(v.GVK)
	return err == nil
}

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
	rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain(), Failed: true, Transient: apierror.Transient(err), Problem: p,
		Refused: refusal})
	if v.Failures > 0 { // the same refusal again is no news
		rv.Ledger.Update(l.Key, func(*ledger.Entry) { rv.Metrics.Failed(l.Release, v.ID.Kind) })
		return
	}
	rv.Reporter.Record(l, &v.Drift, v1alpha1.DriftActionRefused)
	rv.Reporter.Event(rv.Roster.Get(l.Key), events.Refused(&v.Drift, p))
}
