package policy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// Rules with an end on a HelmRelease of a policy stay, as a suspension does; those of the template replace the
// policy's own.
func TestRulesWithAnEndStay(t *testing.T) {
	end := metav1.NewTime(time.Unix(1e9, 0))
	forGood, temporary := v1alpha1.IgnoreRule{Paths: []string{"/a"}}, v1alpha1.IgnoreRule{Paths: []string{"/b"}, Until: &end}
	p := &v1alpha1.HelmReleasePolicy{}
	p.Spec.Template.Spec.Ignore = []v1alpha1.IgnoreRule{forGood}
	key := release.Key{Namespace: "apps", Name: "shop"}
	paths := func(hr *v1alpha1.HelmRelease) (all string) {
		for _, r := range hr.Spec.Ignore {
			all += r.Paths[0]
		}
		return all
	}
	hr := desired(p, key, nil, phase{mode: v1alpha1.ModeEnforce})
	hr.Spec.Ignore = append(hr.Spec.Ignore, temporary)
	hr = desired(p, key, hr, phase{mode: v1alpha1.ModeEnforce})
	check.That(t, paths(hr) == "/a/b", "a user's rule: %s", paths(hr))
	p.Spec.Template.Spec.Ignore = []v1alpha1.IgnoreRule{temporary}
	hr = desired(p, key, hr, phase{mode: v1alpha1.ModeEnforce})
	check.That(t, paths(hr) == "/b", "the template's rule with an end: %s", paths(hr))
	p.Spec.Template.Spec.Ignore = nil
	hr = desired(p, key, hr, phase{mode: v1alpha1.ModeEnforce})
	check.That(t, paths(hr) == "", "after the template's rule has gone: %s", paths(hr))
}
