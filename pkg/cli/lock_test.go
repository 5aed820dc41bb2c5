package cli

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestLockFindsTheHelmRelease(t *testing.T) {
	web := release.Key{Namespace: "apps", Name: "web"}
	var all []*v1alpha1.HelmRelease
	for _, name := range []string{"other", "first", "second"} {
		hr := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: web.Namespace, Name: web.Name}
		all = append(all, hr)
	}
	all[0].Spec.Release.Name = "other"
	for name, tc := range map[string]struct {
		key         release.Key
		given       string
		want, error string
	}{
		"without a name":        {web, "", "first", ""},
		"by its name":           {web, "first", "first", ""},
		"by the name of a twin": {web, "second", "second", ""},
		"a third":               {web, "third", "", "release apps/web has a HelmRelease already: ns/second"},
		"of another release": {web, "other", "",
			"HelmRelease ns/other is for release apps/other, and that cannot be changed"},
		"none": {release.Key{Namespace: "apps", Name: "new"}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := lockOf(all, tc.key, tc.given)
			check.That(t, (err == nil) == (tc.error == "") && (err == nil || err.Error() == tc.error), "error is %v", err)
			check.That(t, (found == nil) == (tc.want == "") && (found == nil || found.Name == tc.want), "found %v", found)
		})
	}
}
