package locking

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/trust"
	"github.com/rancher/helm-locker/pkg/witness"
)

// lockable is a revision to lock.
type lockable struct {
	*load.Revision
	witness.Judgement
	// denials are the objects outside the rights of the release's account.
	denials status.Denials
}

// revisions loads the revisions to lock.
type revisions struct {
	*Options
	rights *rights
}

// loadTrusted is loadOwned, by the followed spec, with the doubt about a record that is not trusted. The objects of
// such a record are without ignored fields: a revert may write these, too. They are without ObjectSet metadata, which
// Helm does not write.
func (rv *revisions) loadTrusted(
	ctx context.Context, account string, rec release.Record, hr *v1alpha1.HelmRelease, spec v1alpha1.HelmReleaseSpec,
) (*lockable, status.Problem, error) {
	marked := rv.Loader.Marks(spec)
	ld, prob, err := rv.loadOwned(ctx, account, rec, spec, marked)
	if err != nil || prob.Reason != "" || !rv.Trusted.Needed(account) {
		if ld != nil {
			ld.Digest, ld.Trust = trust.Digest(rec.Key.Namespace, ld.Release), rv.Trusted.Unneeded(account)
		}
		return ld, prob, err
	}
	now := witness.Judgement{Digest: trust.Digest(rec.Key.Namespace, ld.Release)}
	if err := rv.Trusted.Judge(ctx, hr, rec, &now); err != nil {
		return nil, status.Problem{Reason: v1alpha1.ReasonLocking, Message: apierror.Safe(err)}, err
	}
	ld.Judgement = now
	if now.Doubt == "" {
		return ld, prob, nil
	}
	if len(spec.Ignore) > 0 || marked {
		spec.Ignore = nil
		if ld, prob, err = rv.loadOwned(ctx, account, rec, spec, false); err != nil || prob.Reason != "" {
			return ld, prob, err
		}
	}
	ld.Judgement = now
	return ld, prob, nil
}

// loadOwned loads a record without the objects that the account of the release may not change.
func (rv *revisions) loadOwned(
	ctx context.Context, account string, rec release.Record, spec v1alpha1.HelmReleaseSpec, marked bool,
) (*lockable, status.Problem, error) {
	loaded, prob, err := rv.Loader.Load(ctx, rec, spec, marked)
	if err != nil || prob.Reason != "" {
		return nil, prob, err
	}
	denied, err := rv.rights.hold(ctx, account, loaded)
	if apierrors.IsForbidden(err) {
		prob = status.Problemf(v1alpha1.ReasonForbidden,
			"the operator cannot act as %s, so nothing is locked; it needs the permission to "+
				"impersonate ServiceAccounts in namespace %s: %s", account, rec.Key.Namespace, apierror.Safe(err))
	}
	if err != nil {
		return nil, prob, err
	}
	return &lockable{Revision: loaded, denials: status.Denials{Account: account, Objects: denied}},
		status.Problem{}, nil
}
