package proving

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/revert"
)

// errNotReadable reports an unreadable manifest of the newest record. Written objects stay unchanged until it is
// readable.
var errNotReadable = errors.New("the newest revision cannot be read")

// declares returns the declaration of an object in the newest revision. known is also true for a declared object
// without a declaration to return: an exempt object, one of an unserved kind, or perhaps a hook.
func (pr *Prover) declares(
	ctx context.Context, r *newestRevision, w lock.Write,
) (o *lock.Object, known bool, err error) {
	if r.loaded == nil {
		var spec v1alpha1.HelmReleaseSpec
		if hr := pr.Roster.Get(w.Key); hr != nil {
			spec = hr.Spec
		}
		loaded, prob, err := pr.Loader.Load(ctx, r.record, spec, pr.Loader.Marks(spec))
		if err != nil {
			return nil, false, err
		}
		if prob.Reason != "" {
			return nil, false, fmt.Errorf("%w: %s", errNotReadable, prob.Message)
		}
		r.loaded = loaded
	}
	for _, o := range r.loaded.Objects {
		if o.ID == w.Object.ID {
			return o, true, nil
		}
	}
	_, known = r.loaded.Untracked[w.Object.ID]
	known = known || r.loaded.Release.Hooks.Has(w.Object.ID.Kind, w.Object.ID.Name)
	return nil, known, nil
}

// amendWrite corrects a write that may have taken effect after Helm began to work on a newer revision. It deletes an
// object created by the write if the newer revision does not declare it. A declared object stays as created, whatever
// the outcome of the revision: only the lock of a deployed revision may write it. It restores a declared object changed
// or deleted by the write: Helm may have seen the earlier state and left it alone. None of this matters before Helm
// reaches the objects.
func (pr *Prover) amendWrite(ctx context.Context, w lock.Write, r *newestRevision) error {
	o, known, err := pr.declares(ctx, r, w)
	if err != nil {
		return err
	}
	if trusted, err := pr.Trusted.MayAmend(ctx, w, r.record, r.loaded.Release); err != nil || !trusted {
		if err == nil {
			pr.Writer.Unproven.Drop(w)
		}
		return err
	}
	pending, before := r.record.Status.IsPending(), r.loaded.Release.BeforeObjects
	switch {
	case w.Created && known:
		pr.Writer.Unproven.Drop(w)
		return nil
	case pending && (before || w.Version == "" && w.Deleted):
		return nil // Helm may be about to write it; the next change of the record comes back to it
	case before && w.Deleted && w.Version != "" && w.Object.Desired != "":
		return pr.restore(ctx, w, r, w.Object) // deleted for a replacement: Helm has failed, and needs it
	case before:
		pr.Writer.Unproven.Drop(w)
		return nil
	case !known && w.Created:
		return pr.takeBack(ctx, w, r)
	case o == nil:
		pr.Writer.Unproven.Drop(w)
		return nil
	case w.Deleted && w.Version == "" && r.record.Status != release.StatusDeployed:
		return pr.restore(ctx, w, r, w.Object) // as the operator had created it before it took it back
	case w.Deleted:
		return pr.restore(ctx, w, r, o)
	}
	amended, err := pr.amendment(ctx, w, r, o)
	if err != nil || amended == nil {
		if err == nil {
			pr.Writer.Unproven.Drop(w)
		}
		return err
	}
	return pr.amend(ctx, w, r, amended)
}

// amendment is the revert that corrects a write.
type amendment struct {
	object *lock.Object
	*enforce.Revert
}

// amendment returns the revert to correct a write; nil when there is nothing to do.
func (pr *Prover) amendment(
	ctx context.Context, w lock.Write, r *newestRevision, o *lock.Object,
) (*amendment, error) {
	live, err := pr.Enforcer.Get(ctx, revert.Object(w.Object))
	if err != nil || live == nil {
		return nil, err
	}
	old, _, err := w.Object.Declared()
	if err != nil {
		return nil, err
	}
	desired, blank, err := o.Declared()
	if err != nil {
		return nil, err
	}
	written := drift.Overtaken{Old: old}
	if err := json.Unmarshal(w.Undo, &written.Undo); err != nil {
		return nil, fmt.Errorf("decode what the revert undid: %w", err)
	}
	in := judge.Input{ID: o.ID, Live: live, Rules: o.Rules, Scalable: o.Scalable, Replicas: o.Replicas}
	if o.Scalable {
		scalers, err := pr.Inputs.Scalers.List(ctx, o.ID.Namespace)
		if err != nil {
			return nil, err
		}
		in = in.Scaled(scalers, pr.Inputs.Trusts(r.loaded.Ignore, o.ID))
	}
	a := written.Amend(desired, live.Object, drift.Options{Schema: o.Schema, Ignore: in.Ignore(desired),
		Adopted: judge.Adopted(o.ID)})
	if len(a.Changes) == 0 {
		return nil, nil
	}
	owner := pr.helm(w, r).On(live)
	same := *o
	same.Account = w.Object.Account
	amended := &amendment{object: &same, Revert: revert.Amendment(&same, live, a, blank, owner)}
	amended.Record = r.record
	return amended, nil
}

// amend corrects a write by another one, in the same order as any write: observe the object, read the record, write
// with the observed version as the precondition. The correction is remembered for proof, too.
func (pr *Prover) amend(ctx context.Context, w lock.Write, r *newestRevision, amended *amendment) error {
	undo, err := json.Marshal(drift.MergePatch(amended.Target, amended.Live.Object))
	if err != nil {
		return fmt.Errorf("encode what the write undoes: %w", err)
	}
	holds, err := pr.Enforcer.Holds(ctx, r.record)
	if err != nil {
		return err
	}
	if !holds {
		pr.Queues.Confirm.Add(w.Record.Key)
		return nil
	}
	next := &lock.Write{
		Key: w.Key, Object: amended.object, Record: r.under(w), Undo: undo, Version: amended.Live.GetResourceVersion(),
		Begun: pr.Clock.Now(),
	}
	if !pr.Writer.Unproven.Follow(w, next) {
		return nil
	}
	done, err := pr.Writer.CarryOut(next, func() (*unstructured.Unstructured, error) {
		return pr.Enforcer.Revert(ctx, enforce.SetID(w.Record.Key), amended.Revert)
	})
	switch {
	case done != nil: // the next lock finds fields without Helm's ownership
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		pr.Writer.Unproven.Drop(*next)
		pr.Writer.Unproven.Again(w)
		pr.Queues.Confirm.Add(w.Record.Key)
		return nil
	case err != nil && apierror.Transient(err):
		pr.Writer.Unproven.Drop(*next)
		pr.Writer.Unproven.Again(w)
		return err
	case err != nil:
		pr.Writer.Unproven.Drop(*next)
		pr.Reporter.Superseded(w, events.NotRewritten(w.Object.ID, r.record.Revision, err))
		return nil
	}
	pr.Reporter.Superseded(w, events.Rewritten(w.Object.ID, r.record.Revision))
	pr.Queues.Confirm.Add(w.Record.Key)
	return nil
}

// helm returns Helm's way to write the newest revision.
func (pr *Prover) helm(w lock.Write, r *newestRevision) judge.Helm {
	return judge.Helm{Release: r.loaded.Release.Key,
		Manager:    func() string { return cmp.Or(pr.Ledger.ManagerOf(w.Key, pr.Table.Get(w.Key)), r.loaded.Writer) },
		ServerSide: r.loaded.Release.ApplyMethod == release.ApplyMethodServerSide}
}

// restore creates a deleted object again from the declaration o: Helm may have found the object before the deletion,
// and left it alone.
func (pr *Prover) restore(ctx context.Context, w lock.Write, r *newestRevision, o *lock.Object) error {
	desired, blank, err := o.Declared()
	if err != nil {
		return err
	}
	holds, err := pr.Enforcer.Holds(ctx, r.record)
	if err != nil {
		return err
	}
	if !holds {
		pr.Queues.Confirm.Add(w.Record.Key)
		return nil
	}
	same := *o
	same.Account = w.Object.Account
	again := revert.Creation(&same, desired, blank, pr.helm(w, r).Owner())
	again.Record = r.record
	next := &lock.Write{Key: w.Key, Object: &same, Record: r.under(w), Created: true, Begun: pr.Clock.Now(),
		Manager: again.Creator()}
	if !pr.Writer.Unproven.Follow(w, next) {
		return nil
	}
	made, err := pr.Writer.CarryOut(next, func() (*unstructured.Unstructured, error) {
		return pr.Enforcer.Revert(ctx, enforce.SetID(w.Record.Key), again)
	})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil && made == nil:
		pr.Writer.Unproven.Drop(*next)
		pr.Writer.Unproven.Again(w)
		return err
	}
	pr.Reporter.Superseded(w, events.RecreatedAgain(w.Object.ID, r.record.Revision))
	pr.Queues.Confirm.Add(w.Record.Key)
	return nil
}
