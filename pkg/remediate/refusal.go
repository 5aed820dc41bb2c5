package remediate

import (
	"context"
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
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/salvage"
	"github.com/rancher/helm-locker/pkg/watch"
)

// salvage restores as much of an object as the API server accepts, after it refused the whole revert:
//
//   - It removes the undeclared fields that conflict with the declared values, as few as possible.
//   - If that does not help, it leaves the refused declared fields, as few as possible, and restores the others.
//
// Dry runs find both, once for each content of the object.
func (rv *reverter) salvage(ctx context.Context, l *lock.Lock, v *result, refusal error) {
	if !salvage.RefusesContent(refusal) || v.isRefusedAlike() {
		rv.replaceOrRefuse(ctx, l, v, refusal)
		return
	}
	begun := rv.Clock.Now()
	search := salvage.New(rv.Enforcer, v.in, v.Found,
		func(found judge.Result) *enforce.Revert { return v.revertOf(l, found) }, refusal)
	additions, err := search.Additions(ctx)
	var refused []drift.Change
	if err == nil && len(additions) == 0 && !mayReplace(l, v, refusal) {
		refused, err = search.Changes(ctx)
	}
	rv.Budget.Spend(l.Release, rv.Clock.Now(), rv.Clock.Since(begun))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain()})
	case err != nil:
		rv.refused(ctx, l, v, err)
	case len(additions) > 0:
		rv.restoreWithout(ctx, l, v, additions, refusal)
	case len(refused) > 0 && len(refused) < len(v.Found.Changes):
		rv.restoreBut(ctx, l, v, refused, search.Refusal())
	default:
		v.refused = refused
		rv.replaceOrRefuse(ctx, l, v, refusal)
	}
}

func (rv *reverter) replaceOrRefuse(
	ctx context.Context, l *lock.Lock, v *result, refusal error,
) {
	if mayReplace(l, v, refusal) {
		rv.replace(ctx, l, v, refusal)
		return
	}
	rv.refused(ctx, l, v, refusal)
}

// restoreWithout restores an object and removes the additions of others that conflict with the declared values.
func (rv *reverter) restoreWithout(
	ctx context.Context, l *lock.Lock, v *result, additions []drift.Addition, refusal error,
) {
	taken := make([]drift.Change, len(additions))
	for i, a := range additions {
		taken[i] = a.Change
	}
	v.Forbidding = fmt.Sprintf("%s taken out, because the declared values are not accepted beside it: %s",
		drift.Describe(taken, plain.MaxNamed), apierror.About(v.ID.GroupKind(), refusal))
	v.becomes(v.Found.Without(additions), l)
	if restored, err := rv.writeAgain(ctx, l, v); restored != nil {
		rv.restored(l, v, restored, v1alpha1.DriftActionReverted, err)
	}
}

// restoreBut restores an object except for the refused changes.
func (rv *reverter) restoreBut(
	ctx context.Context, l *lock.Lock, v *result, refused []drift.Change, refusal error,
) {
	rest := v.in.Leaving(refused)
	found := judge.Judge(rest)
	if found.Target == nil { // all other changes go with the refused ones, so that there is nothing to write
		rv.refused(ctx, l, v, refusal)
		return
	}
	v.refused = refused
	p := rv.refusalOf(ctx, l, v, refusal)
	v.in = rest
	v.becomes(found, l)
	restored, _ := rv.writeAgain(ctx, l, v) // it is judged again whether or not Helm owns all of it
	if restored == nil {
		return
	}
	fight := l.RecordRevert(v.ID, v.Seen, rv.Clock.Now(), v.contested())
	content := rv.Hasher.Digest(restored.Object)
	rv.complete(l, v.Work, lock.Outcome{
		Good: true, Reported: true, Digest: content, Version: watch.Version(restored), Owner: v.Found.Owner,
		Baseline: v.in.Restored(v.Found, restored), Chosen: v.in.ChosenIn(restored),
		Failed: true, Again: v.readAgain(), Problem: p,
		Refused: &lock.Refusal{Content: content, Changes: refused, Seen: v.SeenFirst(refused)},
	})
	rv.Reporter.Record(l, &v.Drift, v1alpha1.DriftActionReverted)
	if fight {
		rv.Reporter.Fight(l, &v.Drift)
	}
	if v.Before == nil || *v.Before != *p {
		rv.Reporter.Event(rv.Roster.Get(l.Key), events.Refused(&v.Drift, p))
	}
}

// writeAgain verifies the record again and repeats a refused write. If it returns no object, the work on it is
// completed. If it returns one, the error means that Helm does not own all of it yet.
func (rv *reverter) writeAgain(ctx context.Context, l *lock.Lock, v *result) (*unstructured.Unstructured, error) {
	if holds, err := rv.Writer.Holds(ctx, l); err != nil || !holds {
		rv.postpone(l, []*result{v}, err)
		return nil, nil
	}
	_, restored, err := rv.Writer.Write(ctx, l, v.target(), false, rv.Enforcer.Revert)
	switch {
	case restored != nil:
		return restored, err
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain()})
	default:
		rv.refused(ctx, l, v, err)
	}
	return nil, nil
}
