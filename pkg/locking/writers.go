package locking

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/trust"
)

// readWriters compares the last writer of a record of a HelmRelease with the expected ones.
func (lk *Locker) readWriters(ctx context.Context, key string, hr *v1alpha1.HelmRelease) error {
	now, r, l, state := metav1.Condition{}, trust.Record{}, lk.Table.Get(key), &trust.State{}
	if len(hr.Spec.ExpectedWriters) > 0 && lk.Witnessed {
		accepted := false
		if l != nil {
			r = trust.Record{UID: l.Record.UID, Revision: l.Record.Revision, Digest: l.Digest}
			accepted = hr.Spec.AcceptedRecord == l.Record.Version()
		}
		known, _, err := lk.Trusted.Store.Of(ctx, hr.UID)
		if err != nil {
			return err
		}
		state, now = known, known.Expected(r, accepted, hr.Spec.ExpectedWriters)
	} else if len(hr.Spec.ExpectedWriters) > 0 {
		now = metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonGuardNotServed,
			Message: "the operator runs with --trust-records=Any, so it does not see the users who store revisions"}
	}
	lk.Ledger.Update(key, func(e *ledger.Entry) { e.Writer, e.WrittenBy = now, state.Writer })
	return nil
}
