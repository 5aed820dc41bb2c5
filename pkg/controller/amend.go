package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// newestRevision is the newest revision of a release, loaded when it is needed for the first time.
type newestRevision struct {
	record release.Record
	found  bool
	loaded *loaded
}

// counts reports whether the manifest of the newest record says what should exist: not when there is none, or when
// Helm uninstalls.
func (r *newestRevision) counts() bool {
	return r.found && r.record.Status != release.StatusUninstalling && r.record.Status != release.StatusUninstalled
}

// is reports whether the newest record is rec; rec has no UID when there was none.
func (r *newestRevision) is(rec release.Record) bool {
	return r.found && r.record.Same(rec) || !r.found && rec.UID == ""
}

// under returns the record of a write that follows w, also where there is none. Such a write is one to the same release
// as w, although the newest record may be stored where the objects say that the release is.
func (r *newestRevision) under(w lock.Write) release.Record {
	rec := r.record
	rec.Key, rec.As = w.Record.Key, w.Record.As
	return rec
}

// errNotReadable says that the manifest of the newest record cannot be read. What was written stays as it is until
// it can.
var errNotReadable = errors.New("the newest revision cannot be read")

// declares returns an object as the newest revision declares it. known reports whether it declares the object at
// all: one that is exempt, of a kind that is not served, or perhaps a hook, is declared and not returned.
func (rm *remediation) declares(
	ctx context.Context, r *newestRevision, w lock.Write,
) (o *lock.Object, known bool, err error) {
	if r.loaded == nil {
		var spec v1alpha1.HelmReleaseSpec
		if hr := rm.cached(w.Key); hr != nil {
			spec = hr.Spec
		}
		loaded, prob, err := rm.loader.load(ctx, r.record, spec)
		if err != nil {
			return nil, false, err
		}
		if prob.reason != "" {
			return nil, false, fmt.Errorf("%w: %s", errNotReadable, prob.message)
		}
		r.loaded = loaded
	}
	for _, o := range r.loaded.objects {
		if o.ID == w.Object.ID {
			return o, true, nil
		}
	}
	_, known = r.loaded.untracked[w.Object.ID]
	known = known || r.loaded.release.Hooks.Has(w.Object.ID.Kind, w.Object.ID.Name)
	return nil, known, nil
}

// amendWrite corrects a write that may have landed after Helm began to work on a newer revision. What the newer
// revision does not declare and the write created is taken back; what it declares stays as it was created, whatever
// becomes of the revision, since only a deployed one may be written, by its lock. Where the write took away what the
// newer revision declares, that is written again: Helm may have seen it there, and may have had nothing to do. None of
// this counts before Helm comes to the objects.
func (rm *remediation) amendWrite(ctx context.Context, w lock.Write, r *newestRevision) error {
	o, known, err := rm.declares(ctx, r, w)
	if err != nil {
		return err
	}
	pending, before := r.record.Status.IsPending(), r.loaded.release.BeforeObjects
	switch {
	case w.Created && known:
		rm.unproven.Drop(w)
		return nil
	case pending && (before || w.Version == "" && w.Deleted):
		return nil // Helm may be about to write it; the next change of the record comes back to it
	case before && w.Deleted && w.Version != "" && w.Object.Desired != "":
		return rm.restore(ctx, w, r, w.Object) // what was deleted to replace it: Helm has failed, and counts on it
	case before:
		rm.unproven.Drop(w)
		return nil
	case !known && w.Created:
		return rm.takeBack(ctx, w, r)
	case o == nil:
		rm.unproven.Drop(w)
		return nil
	case w.Deleted && w.Version == "" && r.record.Status != release.StatusDeployed:
		return rm.restore(ctx, w, r, w.Object) // as the operator had created it before it took it back
	case w.Deleted:
		return rm.restore(ctx, w, r, o)
	}
	amended, err := rm.amendment(ctx, w, r, o)
	if err != nil || amended == nil {
		if err == nil {
			rm.unproven.Drop(w)
		}
		return err
	}
	return rm.amend(ctx, w, r, amended)
}

// amendment returns the revert that corrects a write; nil when there is nothing to do.
func (rm *remediation) amendment(
	ctx context.Context, w lock.Write, r *newestRevision, o *lock.Object,
) (*enforce.Revert, error) {
	live, err := rm.enforcer.Look(ctx, w.Object)
	if err != nil || live == nil {
		return nil, err
	}
	old, err := decode(w.Object.Desired)
	if err != nil {
		return nil, err
	}
	desired, err := decode(o.Desired)
	if err != nil {
		return nil, err
	}
	written := drift.Overtaken{Old: old}
	if err := json.Unmarshal(w.Undo, &written.Undo); err != nil {
		return nil, fmt.Errorf("decode what the revert undid: %w", err)
	}
	in := judge.Input{ID: o.ID, Live: live, Rules: o.Rules, Scalable: o.Scalable, Replicas: o.Replicas}
	if o.Scalable {
		scalers, err := rm.scalers.List(ctx, o.ID.Namespace)
		if err != nil {
			return nil, err
		}
		in = in.Scaled(scalers, rm.trusts(r.loaded.ignore, o.ID))
	}
	a := written.Amend(desired, live.Object, drift.Options{Schema: o.Schema, Ignore: in.Ignore(desired),
		Adopted: judge.Adopted(o.ID)})
	if len(a.Changes) == 0 {
		return nil, nil
	}
	owner := drift.ManagedBy(live.GetManagedFields())
	if !owner.Known && r.loaded.release.ApplyMethod == release.ApplyMethodServerSide {
		owner.Operation = metav1.ManagedFieldsOperationApply
	}
	same := *o
	same.Account = w.Object.Account
	return &enforce.Revert{
		Object: &same, Record: r.record, Desired: a.Desired, Live: live, Target: a.Target,
		RemovesForeign: a.RemovesForeign, Owner: owner,
		Options: a.Options, Owned: owner.Applied(live.GetManagedFields(), a.Desired, live.Object),
	}, nil
}

// amend makes the write that corrects another one, in the order of every other write: the object was observed,
// the record is read, and the observed version is the precondition. It is kept in mind like every other write, too.
func (rm *remediation) amend(ctx context.Context, w lock.Write, r *newestRevision, revert *enforce.Revert) error {
	undo, err := json.Marshal(drift.MergePatch(revert.Target, revert.Live.Object))
	if err != nil {
		return fmt.Errorf("encode what the write undoes: %w", err)
	}
	holds, err := rm.enforcer.Holds(ctx, r.record)
	if err != nil {
		return err
	}
	if !holds {
		rm.queues.confirm.Add(w.Record.Key)
		return nil
	}
	next := &lock.Write{
		Key: w.Key, Object: revert.Object, Record: r.under(w), Undo: undo, Version: revert.Live.GetResourceVersion(),
		Begun: rm.Clock.Now(),
	}
	if !rm.unproven.Follow(w, next) {
		return nil
	}
	done, err := rm.carryOut(next, func() (*unstructured.Unstructured, error) {
		return rm.enforcer.Revert(ctx, enforce.SetID(w.Record.Key), revert)
	})
	switch {
	case done != nil: // if Helm does not own all of it, the next lock finds that
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		rm.unproven.Drop(*next)
		rm.unproven.Again(w) // look again
		rm.queues.confirm.Add(w.Record.Key)
		return nil
	case err != nil && transient(err):
		rm.unproven.Drop(*next)
		rm.unproven.Again(w)
		return err
	case err != nil:
		rm.unproven.Drop(*next)
		rm.reporter.overtaken(w, notRewrittenEvent(w.Object.ID, r.record.Revision, err))
		return nil
	}
	rm.reporter.overtaken(w, rewrittenEvent(w.Object.ID, r.record.Revision))
	rm.queues.confirm.Add(w.Record.Key)
	return nil
}

// restore creates an object again that was deleted, as o declares it: Helm may have found it, and may have had nothing
// to do.
func (rm *remediation) restore(ctx context.Context, w lock.Write, r *newestRevision, o *lock.Object) error {
	desired, err := decode(o.Desired)
	if err != nil {
		return err
	}
	holds, err := rm.enforcer.Holds(ctx, r.record)
	if err != nil {
		return err
	}
	if !holds {
		rm.queues.confirm.Add(w.Record.Key)
		return nil
	}
	same := *o
	same.Account = w.Object.Account
	owner := drift.ManagedBy(nil)
	if r.loaded.release.ApplyMethod == release.ApplyMethodServerSide {
		owner.Operation = metav1.ManagedFieldsOperationApply
	}
	again := &enforce.Revert{Object: &same, Record: r.record, Desired: desired, Owner: owner}
	next := &lock.Write{Key: w.Key, Object: &same, Record: r.under(w), Created: true, Begun: rm.Clock.Now(),
		Manager: again.Creator()}
	if !rm.unproven.Follow(w, next) {
		return nil
	}
	made, err := rm.carryOut(next, func() (*unstructured.Unstructured, error) {
		return rm.enforcer.Revert(ctx, enforce.SetID(w.Record.Key), again)
	})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil && made == nil:
		rm.unproven.Drop(*next)
		rm.unproven.Again(w)
		return err
	}
	rm.reporter.overtaken(w, recreatedAgainEvent(w.Object.ID, r.record.Revision))
	rm.queues.confirm.Add(w.Record.Key)
	return nil
}
