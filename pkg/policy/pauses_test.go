package policy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// paused returns the HelmRelease of a policy with pauses of at most an hour, after a user has changed it.
func paused(p *v1alpha1.HelmReleasePolicy, change func(*v1alpha1.HelmRelease)) *v1alpha1.HelmRelease {
	p.Spec.Pauses = &v1alpha1.PauseRules{MaxDuration: &metav1.Duration{Duration: time.Hour}}
	key := release.Key{Namespace: "apps", Name: "shop"}
	hr := desired(p, key, nil, phase{mode: v1alpha1.ModeEnforce})
	change(hr)
	return desired(p, key, hr, phase{mode: v1alpha1.ModeEnforce})
}

func TestPausesEndInTime(t *testing.T) {
	now := time.Unix(1e9, 5e8)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: time.Unix(1e9, 0).UTC().Add(d)} }
	for _, test := range []struct {
		name    string
		suspend bool
		until   *metav1.Time
		want    *metav1.Time
	}{
		{"none", false, nil, nil},
		{"without an end", true, nil, at(time.Hour)},
		{"without an end, after an earlier one", true, at(-time.Hour), at(time.Hour)},
		{"too long", false, at(2 * time.Hour), at(time.Hour)},
		{"the longest", false, at(time.Hour), at(time.Hour)},
		{"shorter", false, at(time.Minute), at(time.Minute)},
		{"over", false, at(-time.Minute), at(-time.Minute)},
	} {
		p := &v1alpha1.HelmReleasePolicy{}
		hr := paused(p, func(hr *v1alpha1.HelmRelease) {
			hr.Spec.Suspend, hr.Spec.SuspendUntil = test.suspend, test.until
		})
		before := hr.DeepCopy()
		check.Equal(t, shorten(p, hr, now), differs(before, hr), "%s: reported", test.name)
		check.That(t, !hr.Spec.Suspend && hr.Spec.SuspendUntil.Equal(test.want), "%s: suspend %t until %v", test.name,
			hr.Spec.Suspend, hr.Spec.SuspendUntil)
		check.That(t, !shorten(p, hr, now.Add(time.Second)), "%s: shortened twice", test.name)
	}
}

func TestRulesEndInTime(t *testing.T) {
	now := time.Unix(1e9, 0).UTC()
	long, short := metav1.NewTime(now.Add(2*time.Hour)), metav1.NewTime(now.Add(time.Minute))
	p := &v1alpha1.HelmReleasePolicy{}
	p.Spec.Template.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/for-good"}}}
	hr := paused(p, func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = append(hr.Spec.Ignore, v1alpha1.IgnoreRule{Paths: []string{"/a"}, Until: &long},
			v1alpha1.IgnoreRule{Paths: []string{"/b"}, Until: &short})
	})
	check.That(t, shorten(p, hr, now), "no rule was shortened")
	rules := hr.Spec.Ignore
	check.That(t,
		rules[0].Until == nil && rules[1].Until.Time.Equal(now.Add(time.Hour)) && rules[2].Until.Equal(&short),
		"rules: %v", rules)
}

// The author of a policy decides about the pauses of its template.
func TestPausesOfTheTemplateStay(t *testing.T) {
	end := metav1.NewTime(time.Unix(2e9, 0))
	p := &v1alpha1.HelmReleasePolicy{}
	p.Spec.Template.Spec.Suspend = true
	p.Spec.Template.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/a"}, Until: &end}}
	hr := paused(p, func(*v1alpha1.HelmRelease) {})
	check.That(t, !shorten(p, hr, time.Unix(1e9, 0)), "shortened to %v", hr.Spec)
}
