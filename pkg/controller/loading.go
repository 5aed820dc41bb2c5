package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/trust"
)

// loadTrusted is loadOwned, by the followed spec, with the doubt about a record that is not trusted. The objects of
// such a record are without ignored fields: a revert may write these, too. They are without ObjectSet metadata, which
// Helm does not write.
func (rs *releases) loadTrusted(
	ctx context.Context, account string, rec release.Record, hr *v1alpha1.HelmRelease, spec v1alpha1.HelmReleaseSpec,
) (*loaded, status.Problem, error) {
	marked := rs.loader.marks(spec)
	ld, prob, err := rs.loadOwned(ctx, account, rec, spec, marked)
	if err != nil || prob.Reason != "" || !rs.trusted.needed(account) {
		if ld != nil {
			ld.digest, ld.trust = trust.Digest(rec.Key.Namespace, ld.release), rs.trusted.unneeded(account)
		}
		return ld, prob, err
	}
	now := judged{digest: trust.Digest(rec.Key.Namespace, ld.release)}
	if err := rs.trusted.judge(ctx, hr, rec, &now); err != nil {
		return nil, status.Problem{Reason: v1alpha1.ReasonLocking, Message: apierror.Safe(err)}, err
	}
	ld.judged = now
	if now.doubt == "" {
		return ld, prob, nil
	}
	if len(spec.Ignore) > 0 || marked {
		spec.Ignore = nil
		if ld, prob, err = rs.loadOwned(ctx, account, rec, spec, false); err != nil || prob.Reason != "" {
			return ld, prob, err
		}
	}
	ld.judged = now
	return ld, prob, nil
}

// loadOwned loads a record without the objects that the account of the release may not change.
func (rs *releases) loadOwned(
	ctx context.Context, account string, rec release.Record, spec v1alpha1.HelmReleaseSpec, marked bool,
) (*loaded, status.Problem, error) {
	loaded, prob, err := rs.loader.load(ctx, rec, spec, marked)
	if err != nil || prob.Reason != "" {
		return nil, prob, err
	}
	denied, err := rs.rights.hold(ctx, account, loaded)
	if apierrors.IsForbidden(err) {
		prob = status.Problemf(v1alpha1.ReasonForbidden,
			"the operator cannot act as %s, so nothing is locked; it needs the permission to "+
				"impersonate ServiceAccounts in namespace %s: %s", account, rec.Key.Namespace, apierror.Safe(err))
	}
	if err != nil {
		return nil, prob, err
	}
	loaded.denials = status.Denials{Account: account, Objects: denied}
	return loaded, status.Problem{}, nil
}

// refusedBefore reports whether the manifest of a record is known not to parse. The result depends on the record alone,
// so events of the HelmRelease do not cause another read.
func (rs *releases) refusedBefore(key string, rec release.Record) (refused bool) {
	rs.entries.update(key, func(e *entry) {
		refused = e.Problem.Reason == v1alpha1.ReasonManifestInvalid && e.refused.Same(rec)
	})
	return refused
}

// followed returns the part of a spec that a lock follows now. The suspension only decides whether there is a lock, an
// acceptance whether its record is trusted, and the end of an ignore rule whether it is there. Near the end of a pause
// the lock only reports.
func followed(spec v1alpha1.HelmReleaseSpec, d lock.Decision, now time.Time) v1alpha1.HelmReleaseSpec {
	if !d.Resumes.IsZero() {
		spec.Mode, spec.Guard = v1alpha1.ModeDetect, v1alpha1.GuardOff
	}
	spec.Suspend, spec.SuspendUntil, spec.Windows, spec.AcceptedRecord, spec.ExpectedWriters = false, nil, nil, "", nil
	spec.Ignore = spec.IgnoredAt(now)
	for i := range spec.Ignore {
		spec.Ignore[i].Until, spec.Ignore[i].Reason, spec.Ignore[i].By = nil, "", ""
	}
	return *spec.DeepCopy()
}

// noticeRules announces the next end of ignore rules a while before, once.
func (rs *releases) noticeRules(key string, hr *v1alpha1.HelmRelease, now time.Time) {
	end := hr.Spec.NextIgnoreEnd(now)
	if end.IsZero() || now.Before(end.Add(-lock.Notice)) {
		return
	}
	news := false
	rs.entries.update(key, func(e *entry) { news, e.noticed = !e.noticed.Equal(end), end })
	if news {
		rs.reporter.event(hr, events.RulesEnd(hr, end))
	}
}
