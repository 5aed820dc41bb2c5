package controller

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/report"
)

// act reverts what drifted, in the order that proves that no write of Helm's is undone: the objects were observed, now
// the record is read, then the writes go out with the observed versions; and creations are confirmed.
func (c *Controller) act(ctx context.Context, l *lock.Lock, drifted []*verdict) {
	for _, v := range drifted {
		v.attribute()
	}
	if l.Detect {
		for _, v := range drifted {
			c.report(l, v)
		}
		return
	}
	if !c.leading.Load() {
		// A standby keeps what it saw, and asks the API server nothing about it again. Lead has it worked on.
		for _, v := range drifted {
			again := v.Observation
			if l.Settle(v.ID, lock.Outcome{Again: &again, Waits: true, Problem: c.driftProblem(v),
				Now: c.Clock.Now()}) {
				c.driftQueue.Add(l.Key)
			}
		}
		if c.leading.Load() && l.Resume() { // since a moment ago: Lead may have come too early for these
			c.driftQueue.Add(l.Key)
		}
		return
	}
	if holds, err := c.holds(ctx, l); err != nil || !holds {
		c.notNow(l, drifted, err)
		return
	}
	var creations []*verdict
	var writes sync.WaitGroup
	for _, v := range drifted {
		if v.Live == nil {
			creations = append(creations, v)
			continue
		}
		c.parallel(ctx, l, &writes, func(done func()) { c.putBack(ctx, l, v, done) })
	}
	c.recreate(ctx, l, creations)
	writes.Wait()
}

// notNow hands objects back because the record is not the locked one, or, with an error, not known to be. The event
// that ends the lock is on its way; if it were not, the wait keeps this from spinning.
func (c *Controller) notNow(l *lock.Lock, drifted []*verdict, err error) {
	for _, v := range drifted {
		again := v.Observation
		p := c.driftProblem(v)
		if err != nil {
			p = problemOf(v.ID, err, true)
		}
		c.settle(l, v.Work, lock.Outcome{Again: &again, Failed: true, Transient: true, Problem: p})
	}
	if err != nil {
		c.Log.WithField(
			"release", l.Release.String(),
		).Warnf("cannot tell whether Helm is at work, so nothing is reverted: %v", err)
		return
	}
	c.update(l.Key, func(*entry) { c.Metrics.Yielded(l.Release) })
	c.Log.WithField("release", l.Release.String()).Debug("Helm has begun to work; leaving its objects alone")
	c.enqueueRelease(l.Release)
	c.confirmQueue.Add(l.Release)
}

// putBack puts one existing object back. It calls done when it makes no more requests about the object.
func (c *Controller) putBack(ctx context.Context, l *lock.Lock, v *verdict, done func()) {
	_, restored, err := c.write(ctx, l, v, false, c.enforcer.Revert)
	switch {
	case err == nil:
		c.restored(l, v, restored, v1alpha1.DriftActionReverted)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// Somebody wrote meanwhile, perhaps Helm: look again and begin anew.
		c.settle(l, v.Work, lock.Outcome{Again: c.freshLook(v)})
	case c.mayReplace(l, v, err):
		c.replace(ctx, l, v, err, done)
	default:
		c.refused(l, v, err)
	}
}

func (c *Controller) freshLook(v *verdict) *lock.Observation {
	return &lock.Observation{Look: true, Last: v.Last, Seen: v.Seen}
}

// recreate creates objects anew: those that others need first (namespaces, then definitions), then the rest side by
// side. After each creation the record is read again, by one list for all that wait for it; if Helm has begun to
// work the object may be taken back.
func (c *Controller) recreate(ctx context.Context, l *lock.Lock, verdicts []*verdict) {
	if len(verdicts) == 0 {
		return
	}
	ctx, cancel := outlast(ctx)
	defer cancel()
	var confirmations sync.WaitGroup
	for rank := range 3 {
		var writes sync.WaitGroup
		for _, v := range verdicts {
			if creationRank(v.ID) != rank {
				continue
			}
			c.parallel(ctx, l, &writes, func(func()) {
				w, obj, err := c.write(ctx, l, v, true, c.enforcer.Revert)
				if err != nil {
					c.notCreated(l, v, obj, err)
				}
				if obj != nil {
					confirmations.Go(func() { c.created(ctx, l, v, w) })
				}
			})
		}
		writes.Wait()
	}
	confirmations.Wait()
}

// created settles an object that was created again: it is restored if the record still is the locked one.
func (c *Controller) created(ctx context.Context, l *lock.Lock, v *verdict, w *lock.Write) {
	if c.confirm(ctx, w) {
		c.restored(l, v, w.Made, v1alpha1.DriftActionRecreated)
		return
	}
	c.settle(l, v.Work, lock.Outcome{Again: c.freshLook(v), Failed: true, Transient: true, Problem: c.driftProblem(v)})
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

func (c *Controller) notCreated(l *lock.Lock, v *verdict, made *unstructured.Unstructured, err error) {
	if made != nil {
		// The object was created and only its field ownership could not be set. It is settled with the others.
		c.Log.WithField("object", v.ID.String()).Warnf("field ownership after re-creation: %s", errorAbout(v.ID, err))
		return
	}
	switch {
	case unanswered(err):
		c.settle(l, v.Work, lock.Outcome{Again: c.freshLook(v), Failed: true, Transient: true,
			Problem: c.driftProblem(v)})
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		c.settle(l, v.Work, lock.Outcome{Again: c.freshLook(v)})
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		c.settle(l, v.Work, lock.Outcome{Again: c.freshLook(v), Failed: true, Problem: &lock.Problem{
			Reason: v1alpha1.ReasonBeingDeleted, Message: "its namespace is being deleted; it is re-created in the " +
				"next one", Drifted: true,
		}})
	case apierrors.IsNotFound(err):
		// The namespace or the kind is missing. A kind that has gone has to wait for its definition.
		c.kinds.Reset()
		c.update(l.Key, func(e *entry) { e.reload = e.reload || !c.served(v) })
		c.releaseQueue.Add(l.Key)
		c.refused(l, v, err)
	case v.Told:
		// It may exist without Helm's label: a Service's ports are refused as taken before its name is.
		c.settle(l, v.Work, lock.Outcome{Again: c.freshLook(v)})
	default:
		c.refused(l, v, err)
	}
}

func (c *Controller) served(v *verdict) bool {
	_, err := c.kinds.Get(v.GVK)
	return err == nil
}

// restored records a revert and learns from its result what the API server makes of the desired state.
func (c *Controller) restored(l *lock.Lock, v *verdict, done *unstructured.Unstructured, action v1alpha1.DriftAction) {
	now := c.Clock.Now()
	options := v.options
	options.Schema, options.Accepted = v.Schema, nil
	if options.Strict != nil {
		strict := *options.Strict
		strict.ManagedFields = done.GetManagedFields()
		options.Strict = &strict
	}
	content := uint64(0)
	if v.Live != nil {
		content = v.Digest
	}
	fight := l.Spend(v.ID, now, content)
	good := lock.Outcome{
		Good: true, Digest: c.hasher.Digest(done.Object), Version: version(done), Owner: v.revert.Owner,
		Baseline: drift.Learn(v.revert.Desired, done.Object, options), Chosen: c.chosen(v.Work, done),
	}
	if endsDeletion(done) {
		good = lock.Outcome{Again: c.freshLook(v)}
	}
	c.settle(l, v.Work, c.deleting(l, v.Work, done, good))
	c.record(l, v, action, now.Sub(v.Seen))
	c.thereAgain(v.Work)
	if fight {
		c.announceFight(l, v)
	}
}

// report records drift that is only reported.
func (c *Controller) report(l *lock.Lock, v *verdict) {
	p := c.driftProblem(v)
	outcome := lock.Outcome{Reported: true, Digest: v.Digest, Problem: p}
	if v.Live != nil && len(v.changes) == 0 { // its deletion is pending, and its content is as declared
		outcome.Good, outcome.Version, outcome.Baseline, outcome.Owner = true, v.Version, v.Baseline, v.revert.Owner
	}
	c.settle(l, v.Work, outcome)
	if v.Before != nil && *v.Before == *p {
		return // the same drift, and something else about the object changed: a controller's annotation, say
	}
	c.record(l, v, v1alpha1.DriftActionReported, 0)
}

// refused records that the API server did not take a revert, and has it tried again later.
func (c *Controller) refused(l *lock.Lock, v *verdict, err error) {
	if errors.Is(err, context.Canceled) {
		l.Settle(v.ID, lock.Outcome{Again: c.freshLook(v), Now: c.Clock.Now()})
		return
	}
	if disconnected(err) {
		c.Log.WithField(
			"object", v.ID.String(),
		).Warnf("the API server did not answer a revert, which is tried again: %v", err)
		c.settle(l, v.Work, lock.Outcome{Again: c.freshLook(v), Failed: true, Transient: true,
			Problem: c.driftProblem(v)})
		return
	}
	p := c.refusalOf(l, v, err)
	if log := c.Log.WithField("object", v.ID.String()); v.Failures == 0 {
		log.Warnf("revert refused: %s", p.Message)
	} else {
		log.Debugf("revert refused for the %d. time: %s", v.Failures+1, p.Message)
	}
	c.settle(l, v.Work, lock.Outcome{Again: c.freshLook(v), Failed: true, Transient: transient(err), Problem: p})
	if v.Failures > 0 { // the same refusal again is no news
		c.update(l.Key, func(*entry) { c.Metrics.Failed(l.Release, v.ID.Kind) })
		return
	}
	c.record(l, v, v1alpha1.DriftActionRefused, 0)
	c.announceRefused(l, v, p)
}

func (c *Controller) driftProblem(v *verdict) *lock.Problem {
	p := &lock.Problem{Reason: v1alpha1.ReasonDriftDetected, Message: v.summary(), Drifted: true}
	switch {
	case v.deletion != "" && len(v.changes) == 0:
		p.Reason = v1alpha1.ReasonBeingDeleted
	case v.deletion != "":
		p.Message += "; " + report.Line(v.deletion)
	}
	return p
}
