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
	if got := st.stillLocking(locked, with(v1alpha1.ReasonLocking)); got != lockingPatience*3/4 {
		t.Errorf("waits for %s", got)
	}
	for _, reason := range []string{v1alpha1.ReasonLocked, v1alpha1.ReasonDriftDetected,
		v1alpha1.ReasonWaitingForKind} {
		if got := st.stillLocking(locked, with(reason)); got > 0 {
			t.Errorf("%s waits for %s", reason, got)
		}
	}
	if got := st.stillLocking(&View{Bookkeeping: ledger.Bookkeeping{LockedAt: begun}}, with(v1alpha1.ReasonLocking)); got > 0 {
		t.Errorf("without a lock it waits for %s", got)
	}
	now.SetTime(begun.Add(lockingPatience))
	if got := st.stillLocking(locked, with(v1alpha1.ReasonLocking)); got > 0 {
		t.Errorf("a lock that takes long waits for %s more", got)
	}
}
