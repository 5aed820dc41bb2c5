package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/trust"
	"github.com/rancher/helm-locker/pkg/witness"
)

// trusted knows the release records that may be enforced.
type trusted struct {
	*common
	store *witness.Store
}

// needed reports whether only trusted records of a release may be enforced. An account has rights of its own.
func (td *trusted) needed(account string) bool { return td.Witnessed && account == "" }

// unneeded returns the trust in a record that is enforced whoever wrote it.
func (td *trusted) unneeded(account string) *v1alpha1.TrustStatus {
	if account != "" {
		return &v1alpha1.TrustStatus{State: v1alpha1.TrustStateAccount}
	}
	return &v1alpha1.TrustStatus{State: v1alpha1.TrustStateAny}
}

// judged is the trust in a record with a digest. doubt is why it may not be enforced; empty when it may.
type judged struct {
	digest, doubt string
	trust         *v1alpha1.TrustStatus
	// changes are those of the state, or -1 while Helm works on an earlier revision.
	changes int64
}

// judge sets the trust in a record that was read under a spec, and the doubt about it. The leader keeps an acceptance,
// so that later changes of the record's labels do not end it.
func (td *trusted) judge(ctx context.Context, hr *v1alpha1.HelmRelease, rec release.Record, l *judged) error {
	state, _, err := td.store.Of(ctx, hr.UID)
	if err != nil {
		return err
	}
	r := trust.Record{UID: rec.UID, Revision: rec.Revision, Digest: l.digest, Replace: hr.Spec.ReplaceImmutable}
	if !state.Trusts(r) && hr.Spec.AcceptedRecord == rec.Version() && td.leading.Load() {
		r.Replace, r.Reason, r.Time = true, v1alpha1.TrustAccepted, td.store.Now()
		err = td.store.Change(ctx, hr, func(s *trust.State) (bool, error) {
			if newest, err := td.enforcer.Holds(ctx, rec); err != nil || !newest {
				return false, err
			}
			s.Trust(r)
			state = s
			return true, nil
		})
	}
	l.doubt, l.trust, l.changes = "", state.Status(r), state.Changes
	if td.helmWorksBefore(rec) {
		l.changes = -1
	}
	if !state.Trusts(r) {
		l.doubt = l.trust.Message + remedy(hr, rec)
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

// since reports whether a doubted record has become trusted since its lock.
func (td *trusted) since(ctx context.Context, hr *v1alpha1.HelmRelease, l *lock.Lock) bool {
	if l.Doubt == "" {
		return false
	}
	now := judged{digest: l.Digest}
	return td.judge(ctx, hr, l.Record, &now) == nil && now.doubt == ""
}

// lost reports whether the record of a lock is no longer trusted, or that is unknown. nil is no lock. A record that
// came and went while the operator did not look leaves the newest one as it was, and Helm may be at work all the same.
func (td *trusted) lost(ctx context.Context, hr *v1alpha1.HelmRelease, l *lock.Lock) bool {
	if l == nil || l.Doubt != "" || !td.needed(l.Account) {
		return false
	}
	now := judged{digest: l.Digest}
	return td.judge(ctx, hr, l.Record, &now) != nil || now.doubt != ""
}

// forget ends the trust in the records of a release that is uninstalled.
func (td *trusted) forget(ctx context.Context, hr *v1alpha1.HelmRelease, rec release.Record) error {
	if !td.Witnessed || !td.leading.Load() || rec.Status != release.StatusUninstalled {
		return nil
	}
	return td.store.Change(ctx, hr, func(s *trust.State) (bool, error) {
		return s.Trusted != nil && s.Forget(rec.Revision, ""), nil
	})
}

// mayAmend reports whether a write may be corrected by the newest revision: the revision has to be trusted. If not, the
// object is compared again under the next lock.
func (td *trusted) mayAmend(ctx context.Context, w lock.Write, r *newestRevision) (bool, error) {
	if !td.needed(w.Object.Account) {
		return true, nil
	}
	state, err := td.ofKey(ctx, w.Key)
	return err == nil && state.Knows(trust.Record{UID: r.record.UID, Revision: r.record.Revision,
		Digest: trust.Digest(r.record.Key.Namespace, r.loaded.release)}), err
}

// wasDeployed reports whether an earlier revision counts for pruning.
func (td *trusted) wasDeployed(
	ctx context.Context, l *lock.Lock, rec release.Record, rel *release.Release,
) (bool, error) {
	if !td.needed(l.Account) {
		return true, nil
	}
	state, err := td.ofKey(ctx, l.Key)
	return err == nil && state.WasDeployed(trust.Digest(rec.Key.Namespace, rel)), err
}

// ofKey returns the trust in the records of the HelmRelease with this key.
func (td *trusted) ofKey(ctx context.Context, key string) (*trust.State, error) {
	state, _, err := td.store.Of(ctx, td.uidOf(key))
	return state, err
}

// readWriters compares the last writer of a record of a HelmRelease with the expected ones.
func (rs *releases) readWriters(ctx context.Context, key string, hr *v1alpha1.HelmRelease) error {
	now, r, l, state := metav1.Condition{}, trust.Record{}, rs.table.Get(key), &trust.State{}
	if len(hr.Spec.ExpectedWriters) > 0 && rs.Witnessed {
		accepted := false
		if l != nil {
			r = trust.Record{UID: l.Record.UID, Revision: l.Record.Revision, Digest: l.Digest}
			accepted = hr.Spec.AcceptedRecord == l.Record.Version()
		}
		known, _, err := rs.trusted.store.Of(ctx, hr.UID)
		if err != nil {
			return err
		}
		state, now = known, known.Expected(r, accepted, hr.Spec.ExpectedWriters)
	} else if len(hr.Spec.ExpectedWriters) > 0 {
		now = metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonGuardNotServed,
			Message: "the operator runs with --trust-records=Any, so it does not see the users who store revisions"}
	}
	rs.entries.update(key, func(e *entry) { e.Writer, e.writtenBy = now, state.Writer })
	return nil
}
