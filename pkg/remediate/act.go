package remediate

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/writing"
)

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
			_, missing := rv.Kinds.Get(v.GVK)
			rv.Ledger.Update(l.Key, func(e *ledger.Entry) { e.Reload = e.Reload || missing != nil })
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
