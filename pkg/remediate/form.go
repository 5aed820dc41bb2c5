package remediate

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
)

// form finds out whether the differences of an object are only the form that the API server gives to the applied
// content (normalised values, webhooks, pruned fields). It returns the outcome if so.
//
// It first uses remembered results. Then a dry run shows the result of a revert now: it may explain differences as the
// form of the object, and never the reverse. Without remembered results, managed fields may excuse the rest. An object
// that was judged before is here for the dry run alone: see judge.Result.Unproven.
func (cp *comparer) form(
	ctx context.Context, l *lock.Lock, v *result, deployed func() (time.Time, error),
) *lock.Outcome {
	settled, err := cp.Memory.Of(ctx, cp.Ledger.UIDOf(l.Key), l)
	if err != nil {
		return v.unknownForm(err)
	}
	if settled != nil && v.First {
		remembered, excused, err := settled.Of(v.Object)
		if err != nil {
			return v.unknownForm(err)
		}
		v.Found = v.in.Unsettled(v.Found).Recall(remembered)
		v.Found.Excused = excused
		if outcome := cp.outcome(l, v); v.Found.State != judge.Drifted {
			v.logTo(cp.Log.WithField("release", l.Release.String()))
			return outcome
		}
	}
	after, err := cp.Enforcer.DryRun(ctx, v.revert)
	unproven := v.Found.Unproven
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return &lock.Outcome{Again: v.readAgain()} // another writer came in between
	case err != nil: // the revert itself will report the cause
		cp.Log.WithField("object", v.ID.String()).Debugf("dry run: %s", apierror.About(v.ID.GroupKind(), err))
		if v.Found = v.in.Unsettled(v.Found).WithoutUnproven(); len(v.Found.Changes) == 0 {
			return v.unknownForm(err)
		}
	default:
		v.Found = v.in.Unsettled(v.Found).AfterDryRun(after)
	}
	if unproven { // a later judgement without refused fields must not remove an element that no webhook injects
		v.in.Baseline = v.Found.Options.Accepted
	}
	if settled == nil && v.First && len(v.Found.Changes) > 0 {
		at, err := deployed()
		if err != nil {
			return v.unknownForm(err)
		}
		v.Found = v.in.Unsettled(v.Found).Excuse(metav1.NewTime(at), l.Fresh)
	}
	v.logTo(cp.Log.WithField("release", l.Release.String()))
	return cp.outcome(l, v)
}

// deployedAt returns the time of the locked record's deployment, by the clock of the API server; zero when it is
// unknown.
func (cp *comparer) deployedAt(ctx context.Context, rec release.Record) (at time.Time, err error) {
	_, err = proof.ReadRecords(ctx, cp.Metadata, rec.Storage, rec.Key,
		func(m *metav1.PartialObjectMetadata) (struct{}, error) {
			if m.UID == rec.UID {
				at = release.DeployedAt(m)
			}
			return struct{}{}, nil
		})
	if err != nil {
		return at, fmt.Errorf("read when release %s was deployed: %w", rec.Key, err)
	}
	return at, nil
}
