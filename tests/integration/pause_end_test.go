package integration

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// In the last minute of a pause users learn what its end reverts: in status and events. Nothing is reverted before.
func TestPause_ItsEndIsAnnounced(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clock })
	is := func(condition string, status metav1.ConditionStatus, reason, part string) {
		t.Helper()
		w.Until(condition+" is "+string(status)+", "+reason+": "+part, func() (any, bool) {
			clock.Step(10 * time.Millisecond)
			c := w.Condition("app", condition)
			return c, c.Status == status && c.Reason == reason && strings.Contains(c.Message, part)
		})
	}
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	until := metav1.NewTime(clock.Now().UTC().Truncate(time.Second).Add(30 * time.Minute))
	at := until.Format(time.RFC3339)
	w.CreateHelmRelease("app")
	is(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonLocked, "")
	w.PatchHelmRelease("app", `{"spec":{"suspendUntil":"`+at+`"}}`)
	is(v1alpha1.ConditionLocked, metav1.ConditionFalse, v1alpha1.ReasonSuspended,
		"suspended until "+at+"; locks again by itself")
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"hot fix"}}`)
	is(v1alpha1.ConditionDrifted, metav1.ConditionUnknown, v1alpha1.ReasonNotLocked, "")

	clock.SetTime(until.Add(-50 * time.Second))
	is(v1alpha1.ConditionDrifted, metav1.ConditionTrue, v1alpha1.ReasonDriftDetected, "data[key]")
	is(v1alpha1.ConditionLocked, metav1.ConditionFalse, v1alpha1.ReasonSuspended,
		"suspended until "+at+"; drift is reported now and reverted then")
	is(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSuspended, "")
	w.Until("an event has the drift and the time", func() (any, bool) {
		all := w.events(w.Operator)
		return all, strings.Contains(all, "data[key] changed by tamperer") &&
			strings.Contains(all, "it will be reverted at "+at) &&
			strings.Contains(all, "the pause ends at "+at+": drift is reported now, and reverted then")
	})
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"another one"}}`)
	w.Until("the second change is reported", func() (any, bool) {
		recent := w.HelmRelease("app").Status.RecentDrift
		return recent, len(recent) == 2 && recent[0].Action == v1alpha1.DriftActionReported
	})
	w.ExpectKey("settings", "another one")

	clock.SetTime(until.Time)
	is(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonLocked, "1 change reverted")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
}
