package teams

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

var now = time.Unix(1e9, 0).UTC()

// at returns a time from now.
func at(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }

func TestEachRequestIsAnsweredOnce(t *testing.T) {
	const notLater = "the platform team allows no later end"
	status := func(requested, until *metav1.Time, message string) *v1alpha1.PauseStatus {
		return &v1alpha1.PauseStatus{Requested: *requested, Until: until, Message: message}
	}
	granted := func(requested, until *metav1.Time) *grant { return &grant{*requested, *until} }
	for _, test := range []struct {
		name    string
		asked   *metav1.Time
		granted *grant // in the HelmRelease
		before  *v1alpha1.PauseStatus
		suspend bool
		until   *metav1.Time
		want    answer
	}{
		{name: "nothing"},
		{name: "nothing, beside a pause of the platform team", until: at(time.Hour)},
		{name: "a time that is over", asked: at(-time.Second)},
		{name: "a pause", asked: at(time.Minute),
			want: answer{pause: granted(at(time.Minute), at(time.Minute)),
				status: status(at(time.Minute), at(time.Minute), "")}},
		{name: "a pause that is too long", asked: at(2 * time.Hour),
			want: answer{pause: granted(at(2*time.Hour), at(time.Hour)),
				status: status(at(2*time.Hour), at(time.Hour), notLater)}},
		{name: "as granted", asked: at(2 * time.Hour), granted: granted(at(2*time.Hour), at(time.Minute)),
			until: at(time.Minute), want: answer{status: status(at(2*time.Hour), at(time.Minute), notLater)}},
		{name: "another end", asked: at(time.Minute), granted: granted(at(time.Hour), at(time.Hour)),
			before: status(at(time.Hour), at(time.Hour), ""), until: at(time.Hour),
			want: answer{pause: granted(at(time.Minute), at(time.Minute)),
				status: status(at(time.Minute), at(time.Minute), "")}},
		{name: "an early end", granted: granted(at(time.Hour), at(time.Hour)), until: at(time.Hour),
			want: answer{resume: true}},
		{name: "an early end after the platform team's own change", granted: granted(at(time.Hour), at(time.Hour)),
			until: at(2 * time.Hour)},
		{name: "an early end after a suspension", granted: granted(at(time.Hour), at(time.Hour)), suspend: true,
			until: at(time.Hour)},
		{name: "paused by the platform team for longer", asked: at(time.Minute), until: at(time.Hour),
			want: answer{status: status(at(time.Minute), nil,
				"the platform team has paused it already, until 2001-09-09T02:46:40Z")}},
		{name: "paused by the platform team for less", asked: at(time.Minute), until: at(time.Second),
			want: answer{pause: granted(at(time.Minute), at(time.Minute)),
				status: status(at(time.Minute), at(time.Minute), "")}},
		{name: "suspended by the platform team", asked: at(time.Minute), suspend: true,
			want: answer{status: status(at(time.Minute), nil, "the platform team has paused it already, without an end")}},
		{name: "ended by the platform team", asked: at(time.Hour), granted: granted(at(time.Hour), at(time.Hour)),
			want: answer{status: status(at(time.Hour), nil, "ended by the platform team")}},
		{name: "of an earlier HelmRelease", asked: at(time.Hour), before: status(at(time.Hour), at(time.Hour), ""),
			want: answer{status: status(at(time.Hour), nil, "ended by the platform team")}},
		{name: "shortened", asked: at(time.Hour), granted: granted(at(time.Hour), at(time.Hour)),
			until: at(time.Minute), want: answer{status: status(at(time.Hour), at(time.Minute),
				"shortened by the platform team or by spec.pauses of a policy")}},
		{name: "an early end of a shortened one", granted: granted(at(time.Hour), at(time.Hour)),
			until: at(time.Minute), want: answer{resume: true}},
		{name: "over", asked: at(2 * time.Hour), granted: granted(at(2*time.Hour), at(-time.Second)),
			until: at(-time.Second),
			want:  answer{status: status(at(2*time.Hour), nil, "ended at 2001-09-09T01:46:39Z")}},
		{name: "refused before", asked: at(time.Hour), before: status(at(time.Hour), nil, "no"),
			want: answer{status: status(at(time.Hour), nil, "no")}},
	} {
		rl := &v1alpha1.ReleaseLock{Spec: v1alpha1.ReleaseLockSpec{PausedUntil: test.asked}}
		rl.Status.Pause = test.before
		hr := &helm.HelmRelease{}
		hr.Spec.Suspend, hr.Spec.SuspendUntil = test.suspend, test.until
		if test.granted != nil {
			hr.Annotations = map[string]string{pauseAnnotation: test.granted.String()}
		}
		got := decide(rl, hr, time.Hour, now)
		check.That(t,
			got.resume == test.want.resume && equality.Semantic.DeepEqual(got.status, test.want.status) &&
				fmt.Sprint(got.pause) == fmt.Sprint(test.want.pause), "%s: got %v, %t, %+v", test.name, got.pause,
			got.resume,
			got.status)
	}
}

// The lock of a release that two HelmReleases name is that of the one in force.
func TestTheLockedHelmReleaseIsShown(t *testing.T) {
	named := func(name string, age time.Duration, locked metav1.ConditionStatus) *helm.HelmRelease {
		hr := &helm.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: *at(-age)}}
		hr.Status.Conditions = []metav1.Condition{{Type: helm.ConditionLocked, Status: locked}}
		return hr
	}
	old, young := named("old", time.Hour, metav1.ConditionFalse), named("young", 0, metav1.ConditionTrue)
	younger := named("younger", 0, metav1.ConditionFalse)
	for _, test := range []struct {
		of   []*helm.HelmRelease
		want *helm.HelmRelease
	}{
		{nil, nil},
		{[]*helm.HelmRelease{old, young}, young},
		{[]*helm.HelmRelease{younger, old}, old},
	} {
		check.Equal(t, choose(test.of), test.want, "of %d", len(test.of))
	}
}
