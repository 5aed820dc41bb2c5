package witness

import (
	"context"
	"fmt"
	"sync/atomic"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/trust"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Trusted knows the release records that may be enforced.
type Trusted struct {
	Store *Store
	// Witnessed is set if only trusted records are enforced.
	Witnessed bool
	// Leading is set while this process may write.
	Leading *atomic.Bool
	// Holds reports whether a record is the newest one of its release.
	Holds   func(context.Context, release.Record) (bool, error)
	Records *watch.Releases
	Ledger  *ledger.Ledger
}

// Needed reports whether only trusted records of a release may be enforced. An account has rights of its own.
func (td *Trusted) Needed(account string) bool { return td.Witnessed && account == "" }

// Unneeded returns the trust in a record that is enforced whoever wrote it.
func (td *Trusted) Unneeded(account string) *v1alpha1.TrustStatus {
	if account != "" {
		return &v1alpha1.TrustStatus{State: v1alpha1.TrustStateAccount}
	}
	return &v1alpha1.TrustStatus{State: v1alpha1.TrustStateAny}
}

// Judgement is the trust in a record with a digest. Doubt is why it may not be enforced; empty when it may.
type Judgement struct {
	Digest, Doubt string
	Trust         *v1alpha1.TrustStatus
	// Changes are those of the state, or -1 while Helm works on an earlier revision.
	Changes int64
}

// Judge sets the trust in a record that was read under a spec, and the doubt about it. The leader keeps an acceptance,
// so that later changes of the record's labels do not end it.
func (td *Trusted) Judge(ctx context.Context, hr *v1alpha1.HelmRelease, rec release.Record, l *Judgement) error {
	state, _, err := td.Store.Of(ctx, hr.UID)
	if err != nil {
		return err
	}
	r := trust.Record{UID: rec.UID, Revision: rec.Revision, Digest: l.Digest, Replace: hr.Spec.ReplaceImmutable}
	if !state.Trusts(r) && hr.Spec.AcceptedRecord == rec.Version() && td.Leading.Load() {
		r.Replace, r.Reason, r.Time = true, v1alpha1.TrustAccepted, td.Store.Now()
		err = td.Store.Change(ctx, hr, func(s *trust.State) (bool, error) {
			if newest, err := td.Holds(ctx, rec); err != nil || !newest {
				return false, err
			}
			s.Trust(r)
			state = s
			return true, nil
		})
	}
	l.Doubt, l.Trust, l.Changes = "", state.Status(r), state.Changes
	if td.Records.WorkBefore(rec) {
		l.Changes = -1
	}
	if !state.Trusts(r) {
		l.Doubt = l.Trust.Message + remedy(hr, rec)
	}
	return err
}

// remedy ends the sentence about a doubt.
func remedy(hr *v1alpha1.HelmRelease, rec release.Record) string {
	return fmt.Sprintf("; it is compared, and nothing is written; accept it (helm-locker accept %s -n %s, or kubectl "+
		`-n %s patch helmrelease %s --type=merge -p '{"spec":{"acceptedRecord":"%s"}}'), have it deployed by a user `+
		"with the rights, or restore its objects", rec.Key.Name, rec.Key.Namespace, hr.Namespace, hr.Name,
		rec.Version())
}

// BecameTrusted reports whether a doubted record has become trusted since its lock.
func (td *Trusted) BecameTrusted(ctx context.Context, hr *v1alpha1.HelmRelease, l *lock.Lock) bool {
	if l.Doubt == "" {
		return false
	}
	now := Judgement{Digest: l.Digest}
	return td.Judge(ctx, hr, l.Record, &now) == nil && now.Doubt == ""
}

// Lost reports whether the record of a lock is no longer trusted, or that is unknown. nil is no lock. A record that
// came and went while the operator did not look leaves the newest one as it was, and Helm may be at work all the same.
func (td *Trusted) Lost(ctx context.Context, hr *v1alpha1.HelmRelease, l *lock.Lock) bool {
	if l == nil || l.Doubt != "" || !td.Needed(l.Account) {
		return false
	}
	now := Judgement{Digest: l.Digest}
	return td.Judge(ctx, hr, l.Record, &now) != nil || now.Doubt != ""
}

// Forget ends the trust in the records of a release that is uninstalled.
func (td *Trusted) Forget(ctx context.Context, hr *v1alpha1.HelmRelease, rec release.Record) error {
	if !td.Witnessed || !td.Leading.Load() || rec.Status != release.StatusUninstalled {
		return nil
	}
	return td.Store.Change(ctx, hr, func(s *trust.State) (bool, error) {
		return s.Trusted != nil && s.Forget(rec.Revision, ""), nil
	})
}

// MayAmend reports whether a write may be corrected by the newest revision rel: the revision has to be trusted. If not,
// the object is compared again under the next lock.
func (td *Trusted) MayAmend(ctx context.Context, w lock.Write, rec release.Record, rel *release.Release) (bool, error) {
	if !td.Needed(w.Object.Account) {
		return true, nil
	}
	state, err := td.ofKey(ctx, w.Key)
	return err == nil && state.Knows(trust.Record{UID: rec.UID, Revision: rec.Revision,
		Digest: trust.Digest(rec.Key.Namespace, rel)}), err
}

// WasDeployed reports whether an earlier revision counts for pruning.
func (td *Trusted) WasDeployed(
	ctx context.Context, l *lock.Lock, rec release.Record, rel *release.Release,
) (bool, error) {
	if !td.Needed(l.Account) {
		return true, nil
	}
	state, err := td.ofKey(ctx, l.Key)
	return err == nil && state.WasDeployed(trust.Digest(rec.Key.Namespace, rel)), err
}

// ofKey returns the trust in the records of the HelmRelease with this key.
func (td *Trusted) ofKey(ctx context.Context, key string) (*trust.State, error) {
	state, _, err := td.Store.Of(ctx, td.Ledger.UIDOf(key))
	return state, err
}
