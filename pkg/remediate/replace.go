package remediate

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/lock"
)

// mayReplace reports whether an object may be deleted and re-created because the API server refused to revert it.
// Everything that Helm has deployed was valid at its creation, so a refusal as invalid means an impossible change. An
// object with a pending deletion cannot be deleted again; it is re-created after the deletion.
func mayReplace(l *lock.Lock, v *result, err error) bool {
	_, replaceable := enforce.Replaceable(v.ID.GroupKind())
	return l.ReplaceImmutable && replaceable && apierrors.IsInvalid(err) && v.Found.Deletion == ""
}

// replace deletes an object and re-creates it, in the order of every other write: the record is read again first,
// the deletion has the observed version as its precondition, and the creation is proven.
func (rv *reverter) replace(ctx context.Context, l *lock.Lock, v *result, refusal error) {
	if asked, err := rv.Roster.StillAsked(ctx, l); err != nil || !asked {
		outcome := lock.Outcome{Again: v.readAgain(), Failed: true, Transient: true, Problem: v.driftProblem()}
		if err != nil {
			outcome.Problem = problemOf(v.ID, err, true)
		}
		rv.complete(l, v.Work, outcome)
		return
	}
	holds, err := rv.Writer.Holds(ctx, l)
	if err != nil || !holds {
		rv.postpone(l, []*result{v}, err)
		return
	}
	rv.Log.WithField("object", v.ID.String()).Infof("replacing the object: %s",
		apierror.About(v.ID.GroupKind(), refusal))
	made, err := rv.removeAndCreate(ctx, l, v)
	switch {
	case made != nil:
		rv.restored(l, v, made, v1alpha1.DriftActionReplaced, err)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
		rv.complete(l, v.Work, lock.Outcome{Again: v.readAgain()})
	default:
		rv.refused(ctx, l, v, err)
	}
}

// removeAndCreate deletes an object and creates it as declared. When the creation fails, the deletion remains to be
// confirmed: Helm may have begun to work, and may count on the object. If the object lingers because of a finalizer,
// the error is "already exists".
func (rv *reverter) removeAndCreate(
	ctx context.Context, l *lock.Lock, v *result,
) (*unstructured.Unstructured, error) {
	removal := &lock.Write{Key: l.Key, Object: v.Object, Record: l.Record, Deleted: true,
		Version: v.Live.GetResourceVersion(), Begun: rv.Clock.Now()}
	if err := rv.Enforcer.Remove(ctx, v.revert); err != nil {
		if apierror.Unanswered(err) {
			rv.Writer.ToProve(removal, true)
		}
		return nil, err
	}
	creation := *v.revert
	creation.Live, creation.Target = nil, nil
	w, made, err := rv.Writer.Write(ctx, l, v.target(), true,
		func(ctx context.Context, setID string, _ *enforce.Revert) (*unstructured.Unstructured, error) {
			return rv.Enforcer.Revert(ctx, setID, &creation)
		})
	if made == nil && !w.Lost {
		rv.Writer.ToProve(removal, false)
	}
	return made, err
}
