package teams

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The end of an operator that no longer renews its Lease is noticed without an event, and shown in place of the lock.
func TestAStoppedOperatorLocksNothing(t *testing.T) {
	clock := testclock.NewFakeClock(now)
	changes := make(chan struct{}, 1)
	o, err := newOperators(nil, "operator", clock, func() { changes <- struct{}{} })
	check.NoError(t, err)
	renew := func(holder string, at time.Time) {
		check.NoError(t, o.informer.GetStore().Add(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "helm-locker"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)),
				RenewTime: &metav1.MicroTime{Time: at}},
		}))
		o.queue.Add("helm-locker")
	}
	hr := &helm.HelmRelease{}
	hr.Namespace, hr.Annotations = "operator", map[string]string{helm.ManagedByAnnotation: "helm-locker"}
	meta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{Type: helm.ConditionLocked,
		Status: metav1.ConditionTrue, Reason: helm.ReasonLocked})
	locked := func() *metav1.Condition {
		return meta.FindStatusCondition(mirror(hr, o.stoppedOf(hr)).Conditions, helm.ConditionLocked)
	}

	await := func() {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(10 * time.Second):
			t.Fatal("no change is reported")
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	renew("a", now)
	go func() { ended <- o.run(ctx) }()
	await() // else the end of the Lease would be found without waiting for it
	if got := locked(); got.Status != metav1.ConditionTrue {
		t.Errorf("with a running operator: %+v", got)
	}
	clock.Step(32 * time.Second)
	await()
	got := locked()
	check.That(t,
		got.Status == metav1.ConditionUnknown && got.Reason == v1alpha1.ReasonOperatorNotRunning &&
			strings.Contains(got.Message, "last seen") && got.LastTransitionTime.Time.Equal(now), "with a stopped operator: %+v",
		got)
	renew("b", clock.Now())
	await()
	got = locked()
	check.That(t, got.Status == metav1.ConditionTrue, "with an operator that runs again: %+v", got)

	released := clock.Now()
	renew("", released)
	got = locked()
	check.That(t, got.Status == metav1.ConditionTrue, "while another replica may take over: %+v", got)
	clock.Step(handover)
	await()
	got = locked()
	check.That(t, got.Status == metav1.ConditionUnknown && got.LastTransitionTime.Time.Equal(released),
		"with a released Lease: %+v", got)
	cancel()
	check.NoError(t, <-ended)
}

// stored returns an object as the API server returns it: times are whole seconds there.
func stored[T any](t *testing.T, o *T) *T {
	t.Helper()
	text, err := json.Marshal(o)
	check.NoError(t, err)
	read := new(T)
	check.NoError(t, json.Unmarshal(text, read))
	return read
}

// A request is one pause, however its time is written, and though its answer is not stored: a member could change the
// ReleaseLock again and again, so that each write of its status conflicts.
func TestOneRequestIsOnePause(t *testing.T) {
	for _, asked := range []string{"2099-01-01T00:00:00Z", "2099-01-01T00:00:00.5Z", "2099-01-01T01:00:00.25+01:00"} {
		for _, statusIsStored := range []bool{true, false} {
			rl, hr := &v1alpha1.ReleaseLock{}, &helm.HelmRelease{}
			check.NoError(t, json.Unmarshal([]byte(`{"pausedUntil":"`+asked+`"}`), &rl.Spec))
			pauses := 0
			for i := range 5 {
				a := decide(rl, hr, time.Hour, now.Add(time.Duration(i)*time.Minute))
				if a.pause != nil {
					pauses++
					patch, err := pausePatch(rl, hr, a.pause)
					check.NoError(t, err)
					check.NoError(t, json.Unmarshal(patch, hr))
				}
				if statusIsStored {
					rl.Status.Pause = a.status
					rl.Status = *stored(t, &rl.Status)
				}
			}
			check.That(t, pauses == 1, "%s, with the status stored %t: %d pauses", asked, statusIsStored, pauses)
		}
	}
}
