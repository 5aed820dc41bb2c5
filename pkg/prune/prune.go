// Package prune deletes the objects of earlier revisions that Helm failed to delete.
package prune

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/writing"
)

// Next prunes the candidates of earlier revisions of one release, at a slow pace.
func (pr *Pruner) Next(ctx context.Context, key string) {
	defer pr.Queues.Pruning.Done(key)
	l := pr.Table.Get(key)
	// A pending list shows the unmanaged objects, so they need no list here. The end of that list calls next again.
	if l == nil || !pr.Leading.Load() || l.Unmanaged.AwaitsList() {
		pr.Queues.Pruning.Forget(key)
		return
	}
	slot, err := pr.Slots.Pruning.Acquire(ctx, l.Release.Namespace)
	if err != nil { // the operator stops
		return
	}
	defer slot()
	if err := pr.pruneAll(ctx, l); err != nil {
		pr.Log.WithField("release", l.Release.String()).Warnf("leftovers of earlier revisions: %s; trying again later",
			apierror.Safe(err))
		pr.Queues.Pruning.AddRateLimited(key)
		return
	}
	if l.Doubt != "" {
		if err := pr.reviewDoubt(ctx, l); err != nil {
			pr.Log.WithField("release", l.Release.String()).Warnf("trust in its record: %s; trying again",
				apierror.Safe(err))
			pr.Queues.Pruning.AddRateLimited(key)
			return
		}
	}
	pr.Queues.Pruning.Forget(key)
	pr.Queues.StatusChanged(key)
}

// pruneAll counts the objects that claim to belong to the release and are not in its manifest. It deletes those that
// Helm should have deleted.
func (pr *Pruner) pruneAll(ctx context.Context, l *lock.Lock) error {
	known := pr.candidatesOf(l.Key)
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

// place is where objects of one kind are listed.
type place struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// listUnmanaged lists, as metadata, the objects with a claim on the release in the places of its objects, unless a
// shared relist has shown them. It returns the completely known places.
func (pr *Pruner) listUnmanaged(ctx context.Context, l *lock.Lock) (map[place]bool, error) {
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
		resource := pr.Metadata.Resource(o.GVR)
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
func (pr *Pruner) prune(ctx context.Context, l *lock.Lock, id manifest.ID, r removed) (left bool, err error) {
	kind, err := pr.Kinds.Get(r.gvk)
	if meta.IsNoMatchError(err) {
		return false, nil // a kind that discovery does not list has no objects
	}
	if err != nil {
		return false, err
	}
	o := &lock.Object{ID: id, Kind: &lock.Kind{GVK: r.gvk, GVR: kind.GVR, Namespaced: kind.Namespaced},
		Account: l.Account}
	live, err := pr.Enforcer.Get(ctx, revert.Object(o))
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
	d := &events.Drift{Operation: v1alpha1.DriftLeftover, Work: &lock.Work{Object: o,
		Observation: lock.Observation{Live: live, Seen: pr.Clock.Now()}, First: true}}
	if l.Detect {
		pr.Reporter.Record(l, d, v1alpha1.DriftActionReported)
		return false, nil
	}
	if asked, err := pr.Roster.StillAsked(ctx, l); err != nil || !asked { // the event of the change is on its way
		return false, err
	}
	return false, pr.deleteCandidate(ctx, l, d)
}

// stays returns why an object of an earlier revision is left alone; empty when it may be deleted.
func (pr *Pruner) stays(l *lock.Lock, o *lock.Object, live *unstructured.Unstructured, r removed) string {
	switch {
	case r.keep || manifest.Kept(live.GetAnnotations()):
		return "helm.sh/resource-policy is keep"
	case l.Declares(o.ID):
		return "the locked revision declares it"
	case l.Hooks.Has(o.ID.Kind, o.ID.Name):
		return "the locked revision has a hook of this name"
	case !live.GetCreationTimestamp().Time.Before(l.Record.Stored):
		return "it was created after Helm stored the locked revision"
	case pr.Table.Holder(o.ID) != nil:
		return "another HelmRelease locks it"
	case metav1.GetControllerOf(live) != nil:
		return "another object controls it"
	case pr.Own.Reserved(manifest.Object{ID: o.ID, Content: live.Object}) != "":
		return "the operator or Helm works with it"
	case judge.HoldsData(o.ID.GroupKind()):
		return "objects of this kind hold data, so they are only deleted by hand"
	}
	return ""
}

func (pr *Pruner) deleteCandidate(ctx context.Context, l *lock.Lock, d *events.Drift) error {
	ctx, cancel := writing.Outlast(ctx)
	defer cancel()
	holds, err := pr.Enforcer.Holds(ctx, l.Record)
	if err != nil || !holds {
		return err // Helm has begun to work: the next lock looks again
	}
	w := &lock.Write{Key: l.Key, Object: d.Object, Record: l.Record, Deleted: true,
		Version: d.Live.GetResourceVersion(), Begun: pr.Clock.Now()}
	err = pr.Enforcer.Prune(ctx, revert.Object(d.Object), d.Live)
	if lost := apierror.Unanswered(err); err == nil || lost {
		pr.Writer.ToProve(w, lost)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		pr.Ledger.Update(l.Key, func(*ledger.Entry) { pr.Metrics.Failed(l.Release, d.ID.Kind) })
		if pr.Queues.Pruning.NumRequeues(l.Key) == 0 { // the same refusal again is no news
			pr.Reporter.Event(pr.Roster.Get(l.Key), events.PruneRefused(d.ID, err))
		}
		return err
	}
	l.SetUnmanaged(d.ID, false)
	pr.Reporter.Record(l, d, v1alpha1.DriftActionPruned)
	return nil
}
