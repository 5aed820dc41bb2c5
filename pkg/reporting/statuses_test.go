package reporting

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestANewLockHasAMomentBeforeItsStatusSaysThatItReads(t *testing.T) {
	begun := time.Unix(1000, 0)
	now := clocktesting.NewFakeClock(begun.Add(lockingPatience / 4))
	st := &Statuses{Reporter: New(Options{Clock: now})}
	with := func(reason string) v1alpha1.HelmReleaseStatus {
		return v1alpha1.HelmReleaseStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady,
			Reason: reason}}}
	}
	locked := &View{View: status.View{Lock: &lock.Lock{}}, Bookkeeping: ledger.Bookkeeping{LockedAt: begun}}
	check.Equal(t, st.stillLocking(locked, with(v1alpha1.ReasonLocking)), lockingPatience*3/4, "waits for")
	for _, reason := range []string{v1alpha1.ReasonLocked, v1alpha1.ReasonDriftDetected,
		v1alpha1.ReasonWaitingForKind} {
		got := st.stillLocking(locked, with(reason))
		check.That(t, got <= 0, "%s waits for %s", reason, got)
	}
	got := st.stillLocking(&View{Bookkeeping: ledger.Bookkeeping{LockedAt: begun}}, with(v1alpha1.ReasonLocking))
	check.That(t, got <= 0, "without a lock it waits for %s", got)
	now.SetTime(begun.Add(lockingPatience))
	got = st.stillLocking(locked, with(v1alpha1.ReasonLocking))
	check.That(t, got <= 0, "a lock that takes long waits for %s more", got)
}
