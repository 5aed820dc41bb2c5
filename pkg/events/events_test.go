package events

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The event names each part of the rules that end then, and no others.
func TestTheEndOfIgnoreRulesNamesTheirParts(t *testing.T) {
	end := metav1.NewTime(time.Unix(1e9, 0))
	later := metav1.NewTime(end.Add(time.Hour))
	hr := &v1alpha1.HelmRelease{}
	hr.Spec.Ignore = []v1alpha1.IgnoreRule{
		{Paths: []string{"/for-good"}}, {Paths: []string{"/later"}, Until: &later},
		{Paths: []string{"", "/data"}, Managers: []string{"keda-*"}, Until: &end, Reason: "INC-42"},
		{Deletion: true, Until: &end},
	}
	want := "ignored until 2001-09-09T01:46:40Z: whole objects, /data, keda-* (INC-42); deletions; " +
		"drift there is reverted then"
	check.Equal(t, RulesEnd(hr, end.Time).Text, want, "the event")
	check.Equal(t, hr.Spec.Ignore[2].Paths[0], "", "the event changed the rule")
}
