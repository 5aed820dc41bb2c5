package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A window opens and closes by the operator's clock alone. Changes in it are reverted at its end.
func TestWindowsOpenAndCloseByThemselves(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clock })
	pass := func(d time.Duration) { // in steps, as other waits of the operator are due, too
		for range 100 {
			clock.Step(d / 100)
		}
	}
	says := func(condition, reason string, parts ...string) {
		t.Helper()
		w.Until(condition+" says "+reason, func() (any, bool) {
			clock.Step(100 * time.Millisecond)
			c := w.Condition("app", condition)
			all := c.Reason == reason
			for _, part := range parts {
				all = all && strings.Contains(c.Message, part)
			}
			return c, all
		})
	}
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	// The window begins at the full minute that is at least four minutes off.
	start := clock.Now().UTC().Truncate(time.Minute).Add(5 * time.Minute)
	end := start.Add(30 * time.Minute)
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Windows = []v1alpha1.Window{{Schedule: fmt.Sprintf("%d %d * * *", start.Minute(), start.Hour()),
			Duration: metav1.Duration{Duration: 30 * time.Minute}}}
	})
	says(v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	next := w.HelmRelease("app").Status.Window
	check.That(t, next != nil && next.Start.Time.Equal(start) && next.End.Time.Equal(end), "the next window is %v",
		next)

	pass(start.Sub(clock.Now()))
	says(v1alpha1.ConditionLocked, v1alpha1.ReasonInWindow, "unlocked until "+end.Format(time.RFC3339))
	c := w.Condition("app", v1alpha1.ConditionReady)
	check.That(t, c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonInWindow, "Ready is %+v", c)
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"changed in the window"}}`)
	pass(end.Sub(clock.Now()) - time.Minute)
	w.ExpectKey("settings", "changed in the window")

	pass(time.Minute)
	says(v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	next = w.HelmRelease("app").Status.Window
	check.That(t, next != nil && next.Start.Time.Equal(start.AddDate(0, 0, 1)), "the next window is %v", next)
}

func TestAWindowThatIsWrongKeepsTheReleaseLocked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Windows = []v1alpha1.Window{
			{Schedule: "* * * * *", Duration: metav1.Duration{Duration: time.Hour}},
			{Schedule: "0 0 * * *", Duration: metav1.Duration{Duration: time.Hour}, TimeZone: "Europe/Atlantis"}}
	})
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonInvalidWindow, "spec.windows[1]", "Europe/Atlantis",
		"stays locked")
	w.Says("app", v1alpha1.ConditionStalled, v1alpha1.ReasonInvalidWindow)
	w.Says("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
	w.Reverts("settings", "declared")
	w.PatchHelmRelease("app", `{"spec":{"windows":null}}`)
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}

func TestWindowsAreValidatedAtCreation(t *testing.T) {
	e := kit.New(t, kit.Shared)
	const shape, length, zone = "schedule has five fields", "duration is from 1m to 24h", "timeZone"
	for _, tc := range []struct{ schedule, duration, zone, refused string }{
		{"30 2 * * SAT", "2h", "Europe/Berlin", ""},
		{"*/15 8-18 1,15 JAN-JUN ?", "24h", "", ""},
		{"@daily", "1m", "Etc/GMT+5", ""},
		{"0 0 30 2 *", "1h30m10s", "America/Argentina/Buenos_Aires", ""}, // the operator says what is wrong
		{"30 2 * *", "2h", "", shape},
		{"0 30 2 * * *", "2h", "", shape},
		{"@every 1h", "1h", "", shape},
		{"TZ=0", "1h", "", shape},
		{"CRON_TZ=Asia/Tokyo 0 0 * * *", "1h", "", shape},
		{"@daily", "59s", "", length},
		{"@daily", "24h1s", "", length},
		{"@daily", "99999999999h", "", "duration"},
		{"@daily", "1 h", "", "duration"},
		{"@daily", "-1h", "", "duration"},
		{"@daily", "1h", "../../etc/passwd", zone},
	} {
		window := map[string]any{"schedule": tc.schedule, "duration": tc.duration}
		if tc.zone != "" {
			window["timeZone"] = tc.zone
		}
		err := tryHelmRelease(e, map[string]any{"spec": map[string]any{"windows": []any{window},
			"release": map[string]any{"name": "a", "namespace": "a"}}})
		check.That(t, (err == nil) == (tc.refused == "") && (err == nil || strings.Contains(err.Error(), tc.refused)),
			"%q for %q in %q: %v, want %q", tc.schedule, tc.duration, tc.zone, err, tc.refused)
	}
}
