package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// verdict is what was found out about an object: either an outcome, with which the matter ends, or drift to act on.
type verdict struct {
	*lock.Work
	outcome *lock.Outcome

	operation v1alpha1.DriftOperation
	changes   []drift.Change
	author    drift.Author
	revert    *enforce.Revert
	options   drift.Options
}

// judge compares what was seen of an object with its desired state.
func (c *Controller) judge(ctx context.Context, l *lock.Lock, w *lock.Work) *verdict {
	desired, err := decode(w.Desired)
	if err != nil {
		return ended(w, lock.Outcome{Failed: true, Problem: problemOf(w.ID, err, false)})
	}
	if w.Live == nil {
		return c.judgeAbsent(l, w, desired)
	}
	if w.Live.GetDeletionTimestamp() != nil {
		return ended(w, lock.Outcome{Problem: &lock.Problem{
			Reason: v1alpha1.ReasonBeingDeleted, Message: "being deleted; it is re-created when its finalizers are done",
		}})
	}
	options := drift.Options{Schema: c.schemas.For(w.GVK), Accepted: w.Baseline, Ignore: c.ignore(w)}
	result := drift.Compare(desired, w.Live.Object, options)
	owner := ownerOf(l, w, w.Live, result.Changes)
	if len(result.Changes) == 0 {
		return ended(w, lock.Outcome{Good: true, Digest: w.Digest, Version: w.Version, Baseline: w.Baseline, Owner: owner})
	}
	if other := c.otherOwner(ctx, l, w); other != "" {
		return ended(w, lock.Outcome{Reported: true, Digest: w.Digest, Problem: &lock.Problem{Reason: v1alpha1.ReasonConflict,
			Message: fmt.Sprintf("belongs to Helm release %s, whose manifest declares it too; left alone", other)}})
	}
	v := &verdict{
		Work: w, operation: v1alpha1.DriftModified, changes: result.Changes, options: options,
		author: drift.Attribute(w.Live.GetManagedFields(), desired, w.Live.Object, result.Changes, owner),
		revert: &enforce.Revert{Object: w.Object, Desired: desired, Live: w.Live, Target: result.Target, RemovesForeign: result.RemovesForeign, Owner: owner},
	}
	if onlyRemoved(result.Changes) {
		v.operation = v1alpha1.DriftRemoved
	}
	if w.First {
		c.tellFromForm(ctx, v)
	}
	return v
}

// tellFromForm settles, for an object that was never judged under this lock, whether its differences are drift or only
// the form that the API server gives to what Helm applied (normalised values, webhooks, pruned fields): it asks the API
// server, in a dry run, what a revert would make of the object. Nothing is written to an object that a revert would not
// change.
func (c *Controller) tellFromForm(ctx context.Context, v *verdict) {
	after, err := c.enforcer.DryRun(ctx, v.revert)
	if err != nil {
		// The revert itself will tell what is wrong, and a conflict makes for a fresh look.
		c.Log.WithField("object", v.ID.String()).Debugf("dry run: %s", errorAbout(v.ID, err))
		return
	}
	if c.hasher.Digest(after.Object) != v.Digest {
		return
	}
	v.outcome = &lock.Outcome{Good: true, Digest: v.Digest, Version: v.Version, Owner: v.revert.Owner,
		Baseline: drift.Learn(v.revert.Desired, v.Live.Object, v.options)}
}

// judgeAbsent decides about an object that does not exist.
func (c *Controller) judgeAbsent(l *lock.Lock, w *lock.Work, desired map[string]any) *verdict {
	if why := ranAlready(w, desired); why != "" {
		// Reported with the digest of nothing: it is judged again when it exists.
		return ended(w, lock.Outcome{Reported: true, Problem: &lock.Problem{Reason: v1alpha1.ReasonNotRecreated, Message: why}})
	}
	return &verdict{
		Work: w, operation: v1alpha1.DriftDeleted,
		revert: &enforce.Revert{Object: w.Object, Desired: desired, Owner: ownerOf(l, w, w.Last, nil)},
	}
}

// ranAlready returns why a Job must not be created again: it would run a second time.
func ranAlready(w *lock.Work, desired map[string]any) string {
	if w.ID.Group != "batch" || w.ID.Kind != "Job" {
		return ""
	}
	if _, ttl, err := unstructured.NestedFieldNoCopy(desired, "spec", "ttlSecondsAfterFinished"); err == nil && ttl {
		return "a Job with ttlSecondsAfterFinished is deleted when it has finished; it is not run again"
	}
	if w.Last == nil {
		return "the Job is gone and may have run; it is not run again"
	}
	conditions, _, err := unstructured.NestedSlice(w.Last.Object, "status", "conditions")
	if err != nil {
		return ""
	}
	for _, item := range conditions {
		if cond, ok := item.(map[string]any); ok && cond["status"] == "True" && (cond["type"] == "Complete" || cond["type"] == "Failed") {
			return "the Job had finished when it was deleted; it is not run again"
		}
	}
	return ""
}

// ignore returns what of the object is not compared: a replica count that an autoscaler of the release chose.
func (c *Controller) ignore(w *lock.Work) func([]string) bool {
	if w.Replicas == nil {
		return nil
	}
	replicas, ok, err := unstructured.NestedInt64(w.Live.Object, "spec", "replicas")
	if !ok || err != nil || !w.Replicas.Contains(replicas) {
		return nil
	}
	return func(path []string) bool { return len(path) == 2 && path[0] == "spec" && path[1] == "replicas" }
}

// ownerOf returns Helm's field manager on the object. What was learnt while the object was as desired is trusted more than
// what a drifted object says, whose ownership metadata may be what was tampered with.
func ownerOf(l *lock.Lock, w *lock.Work, live *unstructured.Unstructured, changes []drift.Change) drift.Owner {
	if w.Owner.Manager != "" && len(changes) > 0 {
		return w.Owner
	}
	if live != nil {
		if owner := drift.ManagedBy(live.GetManagedFields()); owner.Known {
			return owner
		}
	}
	if w.Owner.Manager != "" {
		return w.Owner
	}
	owner := drift.ManagedBy(nil)
	if l.ServerSide {
		owner.Operation = metav1.ManagedFieldsOperationApply
	}
	return owner
}

// otherOwner returns the release that the live object says it belongs to, if that is another one, is deployed, and does
// declare the object. Anything less is tampering with the annotations: they are no way out of the lock.
func (c *Controller) otherOwner(ctx context.Context, l *lock.Lock, w *lock.Work) string {
	annotations := w.Live.GetAnnotations()
	other := release.Key{Namespace: annotations[manifest.ReleaseNamespaceAnnotation], Name: annotations[manifest.ReleaseNameAnnotation]}
	if other == l.Release || other.Name == "" || other.Namespace == "" {
		return ""
	}
	rec, found := c.releases.Newest(other)
	if !found || rec.Status != release.StatusDeployed {
		return ""
	}
	loaded, prob, err := c.load(ctx, rec)
	if err != nil || prob.reason != "" {
		return ""
	}
	for _, o := range loaded.objects {
		if o.ID == w.ID {
			return other.String()
		}
	}
	return ""
}

func ended(w *lock.Work, o lock.Outcome) *verdict { return &verdict{Work: w, outcome: &o} }

func onlyRemoved(changes []drift.Change) bool {
	for _, ch := range changes {
		if ch.Op != drift.Removed {
			return false
		}
	}
	return true
}

func decode(desired []byte) (map[string]any, error) {
	var m map[string]any
	if err := utiljson.Unmarshal(desired, &m); err != nil {
		return nil, fmt.Errorf("decode the desired state: %w", err)
	}
	return m, nil
}
