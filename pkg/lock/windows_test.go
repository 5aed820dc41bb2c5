package lock

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func aWindow(schedule, duration, zone string) v1alpha1.Window {
	d, err := time.ParseDuration(duration)
	if err != nil {
		panic(err)
	}
	return v1alpha1.Window{Schedule: schedule, Duration: metav1.Duration{Duration: d}, TimeZone: zone}
}

// The clocks of Berlin skip 02:00 to 03:00 on 29 March 2026 (from +01:00 to +02:00), and have it twice on 25 October.
// Those of Santiago skip midnight on 6 September.
func TestWindows(t *testing.T) {
	berlin := aWindow("30 2 * * *", "2h", "Europe/Berlin")
	for name, tc := range map[string]struct {
		windows         []v1alpha1.Window
		now, start, end string
		open            bool
	}{
		"before it": {windows: []v1alpha1.Window{berlin}, now: "2026-01-10T01:29:59Z",
			start: "2026-01-10T01:30:00Z", end: "2026-01-10T03:30:00Z"},
		"from its first moment on": {windows: []v1alpha1.Window{berlin}, now: "2026-01-10T01:30:00Z", open: true,
			start: "2026-01-10T01:30:00Z", end: "2026-01-10T03:30:00Z"},
		"until its last": {windows: []v1alpha1.Window{berlin}, now: "2026-01-10T03:29:59Z", open: true,
			start: "2026-01-10T01:30:00Z", end: "2026-01-10T03:30:00Z"},
		"not at its end": {windows: []v1alpha1.Window{berlin}, now: "2026-01-10T03:30:00Z",
			start: "2026-01-11T01:30:00Z", end: "2026-01-11T03:30:00Z"},
		"it moves with the summer time": {windows: []v1alpha1.Window{berlin}, now: "2026-07-10T00:00:00Z",
			start: "2026-07-10T00:30:00Z", end: "2026-07-10T02:30:00Z"},
		"on the day whose clock skips it, it does not open": {windows: []v1alpha1.Window{berlin},
			now: "2026-03-29T00:30:00Z", start: "2026-03-30T00:30:00Z", end: "2026-03-30T02:30:00Z"},
		"one that began before the clock skips an hour lasts as long as ever": {
			windows: []v1alpha1.Window{aWindow("30 1 * * *", "2h", "Europe/Berlin")},
			now:     "2026-03-29T02:00:00Z", open: true, start: "2026-03-29T00:30:00Z", end: "2026-03-29T02:30:00Z"},
		"on the day that has its beginning twice it opens twice, which is once for longer": {
			windows: []v1alpha1.Window{berlin}, now: "2026-10-25T00:30:00Z", open: true,
			start: "2026-10-25T00:30:00Z", end: "2026-10-25T03:30:00Z"},
		"a midnight that the clock skips": {windows: []v1alpha1.Window{aWindow("@daily", "1h", "America/Santiago")},
			now: "2026-09-06T03:30:00Z", start: "2026-09-07T03:00:00Z", end: "2026-09-07T04:00:00Z"},
		"UTC is the default": {windows: []v1alpha1.Window{aWindow("0 12 * * SAT", "1h30m", "")},
			now: "2026-01-05T00:00:00Z", start: "2026-01-10T12:00:00Z", end: "2026-01-10T13:30:00Z"},
		"over midnight": {windows: []v1alpha1.Window{aWindow("0 23 31 12 *", "2h", "")}, now: "2027-01-01T00:30:00Z",
			open: true, start: "2026-12-31T23:00:00Z", end: "2027-01-01T01:00:00Z"},
		"the next of several": {windows: []v1alpha1.Window{berlin, aWindow("0 18 * * *", "1h", "")},
			now: "2026-01-10T12:00:00Z", start: "2026-01-10T18:00:00Z", end: "2026-01-10T19:00:00Z"},
		"those that overlap are one": {
			windows: []v1alpha1.Window{aWindow("0 12 * * *", "2h", ""), aWindow("0 13 * * *", "2h", "")},
			now:     "2026-01-10T12:30:00Z", open: true, start: "2026-01-10T12:00:00Z", end: "2026-01-10T15:00:00Z"},
		"and those that follow each other at once": {
			windows: []v1alpha1.Window{aWindow("0 13 * * *", "1h", ""), aWindow("0 12 * * *", "1h", "")},
			now:     "2026-01-10T12:30:00Z", open: true, start: "2026-01-10T12:00:00Z", end: "2026-01-10T14:00:00Z"},
		"one that is always open ends where the next decision is due": {
			windows: []v1alpha1.Window{aWindow("* * * * *", "1m", "")},
			now:     "2026-01-10T12:00:30Z", open: true, start: "2026-01-10T12:00:00Z", end: "2026-01-10T13:40:00Z"},
		"none": {now: "2026-01-10T12:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			now := moment(t, tc.now)
			ws, err := parseWindows(tc.windows, now)
			check.NoError(t, err)
			got := ws.at(now)
			want := Span{}
			if tc.start != "" {
				want = Span{moment(t, tc.start), moment(t, tc.end)}
			}
			check.That(t, got.Start.Equal(want.Start) && got.End.Equal(want.End), "from %s to %s", got.Start, got.End)
			d := Decide(Input{Spec: unlockedBy(tc.windows...), Found: true,
				Record: release.Record{Revision: 1, Status: release.StatusDeployed}, Now: now})
			again, locked := want.Start, !tc.open
			if tc.open {
				again = want.End.Add(-Notice)
				if locked = !now.Before(again); locked {
					again = want.End
				}
			}
			check.That(t,
				d.Lock == locked && d.Resumes.IsZero() != (tc.open && locked) &&
					(d.Reason == v1alpha1.ReasonInWindow) == tc.open && d.Again.Equal(again), "decision %+v", d)
		})
	}
}

func unlockedBy(windows ...v1alpha1.Window) v1alpha1.HelmReleaseSpec {
	return v1alpha1.HelmReleaseSpec{Protection: v1alpha1.Protection{Windows: windows}}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	check.NoError(t, err)
	return at
}

func TestWindowsThatAreWrongKeepTheReleaseLocked(t *testing.T) {
	good := aWindow("* * * * *", "1h", "")
	for name, tc := range map[string]struct {
		window v1alpha1.Window
		says   string
	}{
		"too few fields":                {aWindow("30 2 * *", "1h", ""), `schedule "30 2 * *": expected exactly 5 fields`},
		"a minute that there is not":    {aWindow("60 2 * * *", "1h", ""), `schedule "60 2 * * *"`},
		"a day that never comes":        {aWindow("0 0 30 2 *", "1h", ""), "no such time within"},
		"no beginning":                  {aWindow("@every 1h", "1h", ""), "@every"},
		"a time zone in the schedule":   {aWindow("CRON_TZ=Asia/Tokyo 0 0 * * *", "1h", ""), "timeZone"},
		"one that makes a parser panic": {aWindow("TZ=0", "1h", ""), "timeZone"},
		"a zone that there is not":      {aWindow("0 0 * * *", "1h", "Europe/Atlantis"), `timeZone "Europe/Atlantis"`},
		"a zone that no one sees":       {aWindow("0 0 * * *", "1h", "Local"), "timeZone Local"},
		"a zone that is a file":         {aWindow("0 0 * * *", "1h", "../../etc/passwd"), "timeZone"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Spec: unlockedBy(good, tc.window), Found: true,
				Record: release.Record{Revision: 1, Status: release.StatusDeployed}, Now: epoch})
			check.That(t,
				d.Lock && d.Again.IsZero() && d.Window == (Span{}) &&
					strings.HasPrefix(d.Invalid, "spec.windows[1]: ") &&
					strings.Contains(d.Invalid, tc.says), "decision %+v", d)
		})
	}
}

func TestASuspensionGoesBeforeAWindow(t *testing.T) {
	until := metav1.NewTime(epoch.Add(10 * time.Minute))
	spec := unlockedBy(aWindow("@hourly", "5m", ""))
	spec.SuspendUntil = &until
	d := Decide(Input{Spec: spec, Found: true, Now: epoch,
		Record: release.Record{Revision: 1, Status: release.StatusDeployed}})
	check.That(t, !d.Lock && d.Reason == v1alpha1.ReasonSuspended && d.Again.Equal(epoch.Add(5*time.Minute)),
		"decision %+v", d)
}
