package locking

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
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

// loadTrusted is loadOwned, by the followed spec, with the doubt about a record that is not trusted. The objects of
// such a record are without ignored fields: a revert may write these, too. They are without ObjectSet metadata, which
// Helm does not write.
func (lk *Locker) loadTrusted(
	ctx context.Context, account string, rec release.Record, hr *v1alpha1.HelmRelease, spec v1alpha1.HelmReleaseSpec,
) (*lockable, status.Problem, error) {
	marked := lk.Loader.Marks(spec)
	ld, prob, err := lk.loadOwned(ctx, account, rec, spec, marked)
	if err != nil || prob.Reason != "" || !lk.Trusted.Needed(account) {
		if ld != nil {
			ld.Digest, ld.Trust = trust.Digest(rec.Key.Namespace, ld.Release), lk.Trusted.Unneeded(account)
		}
		return ld, prob, err
	}
	now := witness.Judgement{Digest: trust.Digest(rec.Key.Namespace, ld.Release)}
	if err := lk.Trusted.Judge(ctx, hr, rec, &now); err != nil {
		return nil, status.Problem{Reason: v1alpha1.ReasonLocking, Message: apierror.Safe(err)}, err
	}
	ld.Judgement = now
	if now.Doubt == "" {
		return ld, prob, nil
	}
	if len(spec.Ignore) > 0 || marked {
		spec.Ignore = nil
		if ld, prob, err = lk.loadOwned(ctx, account, rec, spec, false); err != nil || prob.Reason != "" {
			return ld, prob, err
		}
	}
	ld.Judgement = now
	return ld, prob, nil
}

// loadOwned loads a record without the objects that the account of the release may not change.
func (lk *Locker) loadOwned(
	ctx context.Context, account string, rec release.Record, spec v1alpha1.HelmReleaseSpec, marked bool,
) (*lockable, status.Problem, error) {
	loaded, prob, err := lk.Loader.Load(ctx, rec, spec, marked)
	if err != nil || prob.Reason != "" {
		return nil, prob, err
	}
	denied, err := lk.rights.hold(ctx, account, loaded)
	if apierrors.IsForbidden(err) {
		prob = status.Problemf(v1alpha1.ReasonForbidden,
			"the operator cannot act as %s, so nothing is locked; it needs the permission to "+
				"impersonate ServiceAccounts in namespace %s: %s", account, rec.Key.Namespace, apierror.Safe(err))
	}
	if err != nil {
		return nil, prob, err
	}
	return &lockable{Revision: loaded, denials: status.Denials{Account: account, Objects: denied}}, status.Problem{}, nil
}

// refusedBefore reports whether the manifest of a record is known not to parse. The result depends on the record alone,
// so events of the HelmRelease do not cause another read.
func (lk *Locker) refusedBefore(key string, rec release.Record) (refused bool) {
	lk.Ledger.Update(key, func(e *ledger.Entry) {
		refused = e.Problem.Reason == v1alpha1.ReasonManifestInvalid && e.Refused.Same(rec)
	})
	return refused
}

// readLater schedules the read of a record after wait. It reports whether a lock at the same record exists, and
// continues until then.
func (lk *Locker) readLater(key string, rec release.Record, wait time.Duration) (goesOn bool) {
	old := lk.Table.Get(key)
	goesOn = old != nil && old.Record.Same(rec)
	if !goesOn {
		lk.unlock(key, status.Problemf(v1alpha1.ReasonLocking,
			"what changes of release %s, or of others in its namespace, takes so long to read and to "+
				"compare that the next record waits; make the releases smaller, or change them less often", rec.Key))
	}
	lk.Ledger.Update(key, func(e *ledger.Entry) { e.Reload = true })
	lk.Queues.Releases.AddAfter(key, wait)
	return goesOn
}

// noticeRules announces the next end of ignore rules a while before, once.
func (lk *Locker) noticeRules(key string, hr *v1alpha1.HelmRelease, now time.Time) {
	end := hr.Spec.NextIgnoreEnd(now)
	if end.IsZero() || now.Before(end.Add(-lock.Notice)) {
		return
	}
	news := false
	lk.Ledger.Update(key, func(e *ledger.Entry) { news, e.Noticed = !e.Noticed.Equal(end), end })
	if news {
		lk.Reporter.Event(hr, events.RulesEnd(hr, end))
	}
}
