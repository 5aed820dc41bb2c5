package controller

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/revert"
)

// act reverts drifted objects in an order that undoes no write of Helm's. The objects were observed. Now act reads the
// record, then writes with the observed versions, and proves each write.
func (rm *remediation) act(ctx context.Context, l *lock.Lock, drifted []*result) {
	for _, v := range drifted {
		v.attribute()
	}
	if l.Detect {
		for _, v := range drifted {
			rm.report(l, v)
		}
		return
	}
	if !rm.leading.Load() {
		// A standby keeps its observations, and sends no request about them. Lead makes workers handle them.
		for _, v := range drifted {
			again := v.Observation
			if l.Done(v.ID, lock.Outcome{Again: &again, Waits: true, Problem: rm.driftProblem(v),
				Now: rm.Clock.Now()}) {
				rm.queues.drift.Add(l.Key)
			}
		}
		if rm.leading.Load() && l.Resume() { // since a moment ago: Lead may have come too early for these
			rm.queues.drift.Add(l.Key)
		}
		return
	}
	if holds, err := rm.holds(ctx, l); err != nil || !holds {
		rm.postpone(l, drifted, err)
		return
	}
	var creations []*result
	var writes sync.WaitGroup
	for _, v := range drifted {
		if v.Live == nil {
			creations = append(creations, v)
			continue
		}
		rm.parallel(ctx, l, &writes, func() { rm.update(ctx, l, v) })
	}
	rm.recreate(ctx, l, creations)
	writes.Wait()
}

// postpone returns objects to the lock because the record is not the locked one, or, with an error, because that is
// unknown. The event that ends the lock is on its way. The wait keeps this from spinning if it is not.
func (rm *remediation) postpone(l *lock.Lock, drifted []*result, err error) {
	for _, v := range drifted {
		again := v.Observation
		p := rm.driftProblem(v)
		if err != nil {
			p = problemOf(v.ID, err, true)
		}
		rm.complete(l, v.Work, lock.Outcome{Again: &again, Failed: true, Transient: true, Problem: p})
	}
	if err != nil {
		rm.Log.WithField(
			"release", l.Release.String(),
		).Warnf("cannot determine whether Helm is at work, so nothing is reverted: %v", err)
		return
	}
	rm.entries.update(l.Key, func(*entry) { rm.Metrics.Yielded(l.Release) })
	rm.Log.WithField("release", l.Release.String()).Debug("Helm has begun to work; leaving its objects alone")
	rm.releaseChanged(l.Release)
}

// update puts one existing object back.
func (rm *remediation) update(ctx context.Context, l *lock.Lock, v *result) {
	ctx, cancel := outlast(ctx)
	defer cancel()
	rm.writeAsHelm(ctx, l, v)
	_, restored, err := rm.write(ctx, l, v, false, rm.enforcer.Revert)
	switch {
	case restored != nil:
		rm.restored(l, v, restored, v1alpha1.DriftActionReverted, err)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// Another writer came in between, perhaps Helm: get the object and begin again.
		rm.complete(l, v.Work, lock.Outcome{Again: rm.readAgain(v)})
	default:
		rm.salvage(ctx, l, v, err)
	}
}

func (rm *remediation) readAgain(v *result) *lock.Observation {
	return &lock.Observation{NeedsGet: true, Last: v.Last, Seen: v.Seen}
}

// recreate re-creates objects: first namespaces, then definitions, because others need them, then the rest
// concurrently.
func (rm *remediation) recreate(ctx context.Context, l *lock.Lock, results []*result) {
	for rank := range 3 {
		var writes sync.WaitGroup
		for _, v := range results {
			if creationRank(v.ID) == rank {
				rm.parallel(ctx, l, &writes, func() { rm.create(ctx, l, v) })
			}
		}
		writes.Wait()
	}
}

// create creates one object again.
func (rm *remediation) create(ctx context.Context, l *lock.Lock, v *result) {
	ctx, cancel := outlast(ctx)
	defer cancel()
	rm.writeAsHelm(ctx, l, v)
	_, made, err := rm.write(ctx, l, v, true, rm.enforcer.Revert)
	if made == nil {
		rm.notCreated(ctx, l, v, err)
		return
	}
	rm.restored(l, v, made, v1alpha1.DriftActionRecreated, err)
}

// maxSiblings bounds the objects that are read for the field manager of their release.
const maxSiblings = 10

// writeAsHelm sets the field manager of a revert.
func (rm *remediation) writeAsHelm(ctx context.Context, l *lock.Lock, v *result) {
	v.found.Owner.Manager = rm.manager(ctx, l, v)
	revert.As(v.revert, v.found.Owner.Manager)
}

// manager returns the field manager of a revert. An object without a known owner gets the field manager of the release.
// When a lock begins, none of the release's objects may have been judged yet, so some are read.
func (rm *remediation) manager(ctx context.Context, l *lock.Lock, v *result) string {
	if v.found.Owner.Known || v.in.Owner.Manager != "" {
		return v.found.Owner.Manager
	}
	if manager := l.Manager(); manager != "" { // by an object that was judged after this one
		return manager
	}
	for _, o := range l.Siblings(v.ID, maxSiblings) {
		live, err := rm.enforcer.Get(ctx, revert.Object(o))
		if err != nil { // another one is read, or the manager of the record stays
			rm.Log.WithField("object", o.ID.String()).Debugf("read for its field manager: %s", errorAbout(o.ID, err))
			continue
		}
		if live == nil {
			continue
		}
		if owner := judge.HelmOf(live, l.As); owner.Known {
			return owner.Manager
		}
	}
	return v.found.Owner.Manager
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

func (rm *remediation) notCreated(ctx context.Context, l *lock.Lock, v *result, err error) {
	switch {
	case unanswered(err):
		rm.complete(l, v.Work, lock.Outcome{Again: rm.readAgain(v), Failed: true, Transient: true,
			Problem: rm.driftProblem(v)})
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		rm.complete(l, v.Work, lock.Outcome{Again: rm.readAgain(v)})
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		rm.complete(l, v.Work, lock.Outcome{Again: rm.readAgain(v), Failed: true, Problem: &lock.Problem{
			Reason: v1alpha1.ReasonBeingDeleted, Message: "its namespace is being deleted; it is re-created in the " +
				"next one", Drifted: true,
		}})
	case apierrors.IsNotFound(err):
		// The namespace or the kind is missing. A removed kind has to wait for its definition. Objects in a missing
		// namespace stay in memory: a tenant can keep them there as long as it likes.
		if !isNamespaceMissing(err) {
			rm.rediscover()
			rm.entries.update(l.Key, func(e *entry) { e.reload = e.reload || !rm.served(v) })
			rm.queues.releases.Add(l.Key)
		}
		rm.refused(ctx, l, v, err)
	case v.ReportedGone:
		// It may exist without Helm's label: a Service's ports are refused as taken before its name is.
		rm.complete(l, v.Work, lock.Outcome{Again: rm.readAgain(v)})
	default:
		rm.refused(ctx, l, v, err)
	}
}

func (rm *remediation) served(v *result) bool {
	_, err := rm.kinds.Get(v.GVK)
	return err == nil
}

// restored records a revert and learns the API server's form of the desired state from its result. With an error, Helm
// does not own all of the object yet, and it is judged again.
func (rm *remediation) restored(
	l *lock.Lock, v *result, done *unstructured.Unstructured, action v1alpha1.DriftAction, err error,
) {
	good := lock.Outcome{
		Good: true, Digest: rm.hasher.Digest(done.Object), Version: version(done), Owner: v.found.Owner,
		Baseline: v.in.Restored(v.found, done), Chosen: v.in.ChosenIn(done),
		Additions: v.in.HasAdditions(v.found, done),
	}
	switch {
	case err != nil:
		rm.Log.WithField("object", v.ID.String()).Debugf("field ownership after a revert: %s", errorAbout(v.ID, err))
		good = lock.Outcome{Again: rm.readAgain(v), Failed: true, Transient: transient(err),
			Problem: problemOf(v.ID, err, true)}
	case isFinalized(done), v.unknown != nil:
		good = lock.Outcome{Again: rm.readAgain(v)}
	}
	if v.revert.Unfinished { // the revert was recorded when its content was written
		rm.complete(l, v.Work, good)
		return
	}
	fight := l.RecordRevert(v.ID, v.Seen, rm.Clock.Now(), v.contested())
	rm.complete(l, v.Work, rm.deleting(l, v.Work, done, good))
	rm.reporter.record(l, v, action)
	rm.retryNamespace(v.Work)
	if fight {
		rm.reporter.announceFight(l, v)
	}
}

// report records drift without a revert.
func (rm *remediation) report(l *lock.Lock, v *result) {
	p := rm.driftProblem(v)
	outcome := lock.Outcome{Reported: true, Digest: v.Digest, Problem: p}
	if v.Live != nil {
		outcome.Additions = v.in.HasAdditions(v.found, v.Live)
	}
	if v.Live != nil && len(v.found.Changes) == 0 { // its deletion is pending, and its content is as declared
		outcome.Good, outcome.Version, outcome.Baseline, outcome.Owner = true, v.Version, v.found.Baseline,
			v.found.Owner
	}
	rm.complete(l, v.Work, outcome)
	if v.Before != nil && *v.Before == *p {
		return // the same drift, and something else about the object changed: a controller's annotation, say
	}
	rm.reporter.record(l, v, v1alpha1.DriftActionReported)
}

// refused records a failed revert, and schedules another attempt.
func (rm *remediation) refused(ctx context.Context, l *lock.Lock, v *result, err error) {
	if errors.Is(err, context.Canceled) {
		l.Done(v.ID, lock.Outcome{Again: rm.readAgain(v), Now: rm.Clock.Now()})
		return
	}
	if disconnected(err) {
		rm.Log.WithField(
			"object", v.ID.String(),
		).Warnf("the API server did not answer a revert, which is tried again: %v", err)
		rm.complete(l, v.Work, lock.Outcome{Again: rm.readAgain(v), Failed: true, Transient: true,
			Problem: rm.driftProblem(v)})
		return
	}
	p, refusal := v.Before, v.refusalBy(err)
	if p == nil || !v.isRefusedAlike() { // the problem of before may name the refused fields
		p = rm.refusalOf(ctx, l, v, err)
	}
	if log := rm.Log.WithField("object", v.ID.String()); v.Failures == 0 {
		log.Warnf("revert refused: %s", p.Message)
	} else {
		log.Debugf("revert refused for the %d. time: %s", v.Failures+1, p.Message)
	}
	rm.complete(l, v.Work, lock.Outcome{Again: rm.readAgain(v), Failed: true, Transient: transient(err), Problem: p,
		Refused: refusal})
	if v.Failures > 0 { // the same refusal again is no news
		rm.entries.update(l.Key, func(*entry) { rm.Metrics.Failed(l.Release, v.ID.Kind) })
		return
	}
	rm.reporter.record(l, v, v1alpha1.DriftActionRefused)
	rm.reporter.event(rm.cached(l.Key), refusedEvent(v, p))
}

func (rm *remediation) driftProblem(v *result) *lock.Problem {
	p := &lock.Problem{Reason: v1alpha1.ReasonDriftDetected, Message: v.summary(), Drifted: true}
	switch {
	case v.found.Deletion != "" && len(v.found.Changes) == 0:
		p.Reason = v1alpha1.ReasonBeingDeleted
	case v.found.Deletion != "":
		p.Message += "; " + plain.Line(v.found.Deletion)
	}
	return p
}
