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
	// deletion describes the deletion of the object that is pending; empty for none.
	deletion string
}

// attribute finds out who changed the object.
func (v *verdict) attribute() {
	if v.Live != nil {
		v.author = drift.Attribute(v.Live.GetManagedFields(), v.revert.Desired, v.Live.Object, v.changes,
			v.revert.Owner)
	}
}

// judge compares what was seen of an object with its desired state.
func (rm *remediation) judge(l *lock.Lock, w *lock.Work) *verdict {
	desired, err := decode(w.Desired)
	if err != nil {
		return ended(w, lock.Outcome{Failed: true, Problem: problemOf(w.ID, err, false)})
	}
	if w.Live == nil {
		return rm.judgeAbsent(l, w, desired)
	}
	if w.Live.GetDeletionTimestamp() != nil {
		desired = drift.WithoutDoneFinalizers(desired, w.Live)
	}
	desired = rm.rescaled(w, desired)
	options := drift.Options{Schema: w.Schema, Accepted: w.Baseline, Ignore: rm.ignore(w, desired)}
	if l.Strict {
		options.Strict = &drift.Strict{ManagedFields: w.Live.GetManagedFields(), Helm: w.Owner, Keep: w.Rules.Keeps}
	}
	result := drift.Compare(desired, w.Live.Object, options)
	owner := ownerOf(l, w, w.Live, result.Changes)
	deletion := drift.DescribeDeletion(w.Live)
	if len(result.Changes) == 0 && (deletion == "" || !l.Detect) {
		good := lock.Outcome{Good: true, Digest: w.Digest, Version: w.Version, Baseline: w.Baseline, Owner: owner,
			Chosen: rm.chosen(w, w.Live)}
		if w.First && drift.DeclaresNull(desired) {
			good.Baseline = drift.Learn(desired, w.Live.Object, options)
		}
		return ended(w, rm.deleting(l, w, w.Live, good))
	}
	v := &verdict{
		Work: w, changes: result.Changes, options: options, deletion: deletion,
		revert: &enforce.Revert{Object: w.Object, Record: l.Record, Desired: desired, Live: w.Live,
			Target: result.Target, RemovesForeign: result.RemovesForeign, Owner: owner,
			Options: options, Owned: owner.Applied(w.Live.GetManagedFields(), desired, w.Live.Object)},
	}
	v.operation = operationOf(result.Changes)
	return v
}

// onlyForm returns, for an object that was never judged under this lock, the outcome if its differences are no
// drift but only the form that the API server gives to what Helm applied (normalised values, webhooks, pruned
// fields), nil otherwise: it asks the API server, in a dry run, what a revert would make of the object. Nothing is
// written to an object that a revert would not change.
func (rm *remediation) onlyForm(ctx context.Context, l *lock.Lock, v *verdict) *lock.Outcome {
	after, err := rm.enforcer.DryRun(ctx, v.revert)
	if err != nil {
		// The revert itself will tell what is wrong, and a conflict makes for a fresh look.
		rm.Log.WithField("object", v.ID.String()).Debugf("dry run: %s", errorAbout(v.ID, err))
		return nil
	}
	if rm.hasher.Digest(after.Object) != v.Digest {
		return nil
	}
	baseline := drift.Learn(v.revert.Desired, v.Live.Object, v.options)
	if v.deletion != "" && l.Detect {
		// The content is as declared, and the deletion alone is drift to report.
		v.Baseline, v.changes, v.operation = baseline, nil, v1alpha1.DriftDeleted
		return nil
	}
	good := rm.deleting(l, v.Work, v.Live, lock.Outcome{Good: true, Digest: v.Digest, Version: v.Version,
		Owner: v.revert.Owner, Baseline: baseline,
		Chosen: rm.chosen(v.Work, v.Live)})
	return &good
}

// judgeAbsent decides about an object that does not exist.
func (rm *remediation) judgeAbsent(l *lock.Lock, w *lock.Work, desired map[string]any) *verdict {
	if why := ranAlready(w, desired); why != "" {
		// Reported with the digest of nothing: it is judged again when it exists.
		return ended(w, lock.Outcome{Reported: true,
			Problem: &lock.Problem{Reason: v1alpha1.ReasonNotRecreated, Message: why}})
	}
	desired = rm.recreatedScaled(w, desired)
	return &verdict{
		Work: w, operation: v1alpha1.DriftDeleted,
		revert: &enforce.Revert{Object: w.Object, Record: l.Record, Desired: desired,
			Owner: ownerOf(l, w, w.Last, nil)},
	}
}

// mayHaveRun reports whether an object is of a kind that is not always created anew when it is gone.
func mayHaveRun(id manifest.ID) bool { return id.Group == "batch" && id.Kind == "Job" }

// ranAlready returns why a Job must not be created again: it would run a second time.
func ranAlready(w *lock.Work, desired map[string]any) string {
	if !mayHaveRun(w.ID) {
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
		if cond, ok := item.(map[string]any); ok && cond["status"] == "True" &&
			(cond["type"] == "Complete" || cond["type"] == "Failed") {
			return "the Job had finished when it was deleted; it is not run again"
		}
	}
	return ""
}

// ignore returns what of the object is not compared: what the spec ignores, and a replica count that an autoscaler
// chose.
func (rm *remediation) ignore(w *lock.Work, desired map[string]any) func([]string) bool {
	var ownership *drift.Ownership
	if w.Rules.NeedsOwnership() {
		ownership = drift.NewOwnership(w.Live.GetManagedFields(), desired, w.Live.Object)
	}
	ruled := w.Rules.Bind(ownership)
	if keepsFinalizers(w) {
		ruled = withFinalizersIgnored(ruled)
	}
	if !rm.autoscaled(w) {
		return ruled
	}
	return func(path []string) bool {
		return len(path) == 2 && path[0] == "spec" && path[1] == "replicas" || ruled != nil && ruled(path)
	}
}

// ownerOf returns Helm's field manager on the object. What was learnt while the object was as desired is trusted
// more than what a drifted object says, whose ownership metadata may be what was tampered with.
func ownerOf(l *lock.Lock, w *lock.Work, live *unstructured.Unstructured, changes []drift.Change) drift.Owner {
	if w.Owner.Manager != "" && len(changes) > 0 {
		return w.Owner
	}
	if live != nil {
		if owner := drift.ManagedIn(live); owner.Known {
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

func ended(w *lock.Work, o lock.Outcome) *verdict { return &verdict{Work: w, outcome: &o} }

// operationOf sums changes up: by what was taken away or put there if there is nothing else. An object without
// changes is drifted because its deletion is pending.
func operationOf(changes []drift.Change) v1alpha1.DriftOperation {
	if len(changes) == 0 {
		return v1alpha1.DriftDeleted
	}
	removed, added := true, true
	for _, ch := range changes {
		removed = removed && ch.Op == drift.Removed
		added = added && ch.Op == drift.Added
	}
	switch {
	case removed:
		return v1alpha1.DriftRemoved
	case added:
		return v1alpha1.DriftAdded
	}
	return v1alpha1.DriftModified
}

func decode(desired lock.Packed) (map[string]any, error) {
	text, err := desired.JSON()
	if err != nil {
		return nil, fmt.Errorf("read the desired state: %w", err)
	}
	var m map[string]any
	if err := utiljson.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("decode the desired state: %w", err)
	}
	return m, nil
}
