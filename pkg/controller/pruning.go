package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Reading the history of every release at the start would be felt, and nothing waits for it.
const (
	historyReadsPerSecond = 10
	historyReadsAtOnce    = 20
	// historyLater is the time until kinds of earlier revisions are discovered again if no definition has changed. Many
	// releases have a removed kind of Kubernetes in their history.
	historyLater = 10 * time.Minute
)

// pruning is the worker that deletes the prune candidates of earlier revisions.
type pruning struct {
	*common
	loader   *loader
	reporter *reporter
	writer   *writer
	trusted  *trusted
	pace     flowcontrol.RateLimiter
}

// next prunes the candidates of earlier revisions of one release, at a slow pace.
func (pr *pruning) next(ctx context.Context, key string) {
	defer pr.queues.pruning.Done(key)
	l := pr.table.Get(key)
	// A pending list shows the unmanaged objects, so they need no list here. The end of that list calls next again.
	if l == nil || !pr.leading.Load() || l.Unmanaged.AwaitsList() {
		pr.queues.pruning.Forget(key)
		return
	}
	slot, err := pr.slots.pruning.Acquire(ctx, l.Release.Namespace)
	if err != nil { // the operator stops
		return
	}
	defer slot()
	if err := pr.pruneAll(ctx, l); err != nil {
		pr.Log.WithField("release", l.Release.String()).Warnf("leftovers of earlier revisions: %s; trying again later",
			apierror.Safe(err))
		pr.queues.pruning.AddRateLimited(key)
		return
	}
	if l.Doubt != "" {
		if err := pr.reviewDoubt(ctx, l); err != nil {
			pr.Log.WithField("release", l.Release.String()).Warnf("trust in its record: %s; trying again",
				apierror.Safe(err))
			pr.queues.pruning.AddRateLimited(key)
			return
		}
	}
	pr.queues.pruning.Forget(key)
	pr.statusChanged(key)
}

// pruneAll counts the objects that claim to belong to the release and are not in its manifest. It deletes those that
// Helm should have deleted.
func (pr *pruning) pruneAll(ctx context.Context, l *lock.Lock) error {
	var known candidates
	pr.entries.update(l.Key, func(e *entry) { known = e.candidates })
	if known.done == l {
		return nil
	}
	if known.read == nil || l.Doubt != "" {
		known.read, known.removed = map[types.UID][]schema.GroupVersionKind{}, map[manifest.ID]removed{}
	}
	if err := pr.readHistory(ctx, l, &known); err != nil {
		return err
	}
	unknown := known.unknown(l)
	if unknown && known.waits == l {
		pr.waitForKind(l, &known)
		return nil
	}
	listed, err := pr.listUnmanaged(ctx, l)
	if err != nil {
		return err
	}
	ids := known.gone(l)
	if unknown {
		if len(ids) > 0 {
			pr.Log.WithField("release", l.Release.String()).Infof("%d objects of earlier revisions are not pruned: "+
				"the API server does not serve every kind that the revisions declare", len(ids))
		}
		pr.waitForKind(l, &known)
		return nil
	}
	var refused error
	for _, id := range ids {
		if l.Closed() {
			return nil
		}
		r := known.removed[id]
		if listed[place{r.gvk, id.Namespace}] && !l.Unmanaged.Has(id) {
			continue // it does not exist, or is not the release's
		}
		if err := pr.pace.Wait(ctx); err != nil {
			return err
		}
		left, err := pr.prune(ctx, l, id, r)
		if left {
			known.left = l
		}
		if apierrors.IsForbidden(err) {
			refused = err // of this one; it keeps none of the others
		} else if err != nil {
			return err
		}
	}
	if refused != nil {
		return refused
	}
	known.done, known.waits = l, nil
	pr.remember(l, known)
	return nil
}

// remember keeps the candidates for the next lock. Those of a doubted record are for that lock alone: the objects that
// it still declares are candidates again under the next record.
func (pr *pruning) remember(l *lock.Lock, known candidates) {
	pr.entries.update(l.Key, func(e *entry) {
		if l.Doubt != "" {
			known.read, known.removed = e.candidates.read, e.candidates.removed
		}
		e.candidates = known
	})
}

// place is where objects of one kind are listed.
type place struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// listUnmanaged lists, as metadata, the objects with a claim on the release in the places of its objects, unless a
// shared relist has shown them. It returns the completely known places.
func (pr *pruning) listUnmanaged(ctx context.Context, l *lock.Lock) (map[place]bool, error) {
	listed := map[place]bool{}
	for _, o := range l.Objects() {
		at := place{o.GVK, o.ID.Namespace}
		if listed[at] {
			continue
		}
		listed[at] = true
		if l.Unmanaged.Knows(o.GVK) {
			continue
		}
		if err := pr.pace.Wait(ctx); err != nil {
			return nil, err
		}
		resource := pr.clients.Metadata.Resource(o.GVR)
		// Consistent: an object absent from the list is taken not to exist.
		options := metav1.ListOptions{LabelSelector: watch.HelmSelector}
		_, err := proof.ListMetadata(ctx, resource.Namespace(o.ID.Namespace), options,
			func(m *metav1.PartialObjectMetadata) (struct{}, error) {
				if judge.ClaimedBy(m) == l.As {
					l.SetUnmanaged(watch.IDOf(o.GVK, m), true)
				}
				return struct{}{}, nil
			})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", o.GVR.Resource, err)
		}
	}
	return listed, nil
}

// prune deletes one object of an earlier revision, if it exists, still belongs to the release, and Helm would
// delete it. For a doubted record it deletes nothing, and reports whether there is such an object.
func (pr *pruning) prune(ctx context.Context, l *lock.Lock, id manifest.ID, r removed) (left bool, err error) {
	kind, err := pr.kinds.Get(r.gvk)
	if meta.IsNoMatchError(err) {
		return false, nil // a kind that discovery does not list has no objects
	}
	if err != nil {
		return false, err
	}
	o := &lock.Object{ID: id, Kind: &lock.Kind{GVK: r.gvk, GVR: kind.GVR, Namespaced: kind.Namespaced},
		Account: l.Account}
	live, err := pr.enforcer.Get(ctx, revert.Object(o))
	if err != nil {
		return false, err
	}
	if live == nil || live.GetDeletionTimestamp() != nil || judge.ClaimedBy(live) != l.As {
		return false, nil
	}
	if l.Doubt != "" {
		return !r.keep && !manifest.Kept(live.GetAnnotations()), nil
	}
	if why := pr.stays(l, o, live, r); why != "" {
		pr.Log.WithFields(map[string]any{"release": l.Release.String(),
			"object": id.String()}).Infof("left over from an earlier revision and left alone: %s", why)
		return false, nil
	}
	v := &result{Drift: events.Drift{Operation: v1alpha1.DriftLeftover, Work: &lock.Work{Object: o,
		Observation: lock.Observation{Live: live, Seen: pr.Clock.Now()}, First: true}}}
	if l.Detect {
		pr.reporter.record(l, v, v1alpha1.DriftActionReported)
		return false, nil
	}
	if asked, err := pr.stillAsked(ctx, l); err != nil || !asked { // the event of the change is on its way
		return false, err
	}
	return false, pr.deleteCandidate(ctx, l, v)
}

// stays returns why an object of an earlier revision is left alone; empty when it may be deleted.
func (pr *pruning) stays(l *lock.Lock, o *lock.Object, live *unstructured.Unstructured, r removed) string {
	switch {
	case r.keep || manifest.Kept(live.GetAnnotations()):
		return "helm.sh/resource-policy is keep"
	case l.Declares(o.ID):
		return "the locked revision declares it"
	case l.Hooks.Has(o.ID.Kind, o.ID.Name):
		return "the locked revision has a hook of this name"
	case !live.GetCreationTimestamp().Time.Before(l.Record.Stored):
		return "it was created after Helm stored the locked revision"
	case pr.table.Holder(o.ID) != nil:
		return "another HelmRelease locks it"
	case metav1.GetControllerOf(live) != nil:
		return "another object controls it"
	case pr.own.Reserved(manifest.Object{ID: o.ID, Content: live.Object}) != "":
		return "the operator or Helm works with it"
	case judge.HoldsData(o.ID.GroupKind()):
		return "objects of this kind hold data, so they are only deleted by hand"
	}
	return ""
}

func (pr *pruning) deleteCandidate(ctx context.Context, l *lock.Lock, v *result) error {
	ctx, cancel := outlast(ctx)
	defer cancel()
	holds, err := pr.enforcer.Holds(ctx, l.Record)
	if err != nil || !holds {
		return err // Helm has begun to work: the next lock looks again
	}
	w := &lock.Write{Key: l.Key, Object: v.Object, Record: l.Record, Deleted: true,
		Version: v.Live.GetResourceVersion(), Begun: pr.Clock.Now()}
	err = pr.enforcer.Prune(ctx, revert.Object(v.Object), v.Live)
	if lost := unanswered(err); err == nil || lost {
		pr.writer.toProve(w, lost)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		pr.entries.update(l.Key, func(*entry) { pr.Metrics.Failed(l.Release, v.ID.Kind) })
		if pr.queues.pruning.NumRequeues(l.Key) == 0 { // the same refusal again is no news
			pr.reporter.event(pr.cached(l.Key), events.PruneRefused(v.ID, err))
		}
		return err
	}
	l.SetUnmanaged(v.ID, false)
	pr.reporter.record(l, v, v1alpha1.DriftActionPruned)
	return nil
}
