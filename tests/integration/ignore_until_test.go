package integration

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A rule with an end leaves its field alone until then. The rest of the object stays protected, and the field is
// restored by itself.
func TestIgnoreRules_EndByThemselves(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", ignorable))
	until := metav1.NewTime(time.Now().Add(8 * time.Second).Truncate(time.Second))
	w.Lock("app", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/data/free"}, Until: &until, Reason: "INC-42",
			Target: &v1alpha1.IgnoreTarget{Kind: "ConfigMap", Name: "settings"}}}
	})
	w.exceptions("app", "Ignored ConfigMap/settings /data/free")
	notice := "ignored until " + until.UTC().Format(time.RFC3339) + ": /data/free (INC-42); drift there is reverted then"
	w.Until("an event announces the end", func() (any, bool) {
		all := w.events(w.Operator)
		return all, strings.Contains(all, notice)
	})
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"free":"edited","key":"tampered"}}`)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.PassFence()
	free := kit.Field(w.Get(kit.ConfigMaps, "settings"), "data.free")
	if free != "edited" && time.Now().Before(until.Time) {
		t.Errorf("before the end of the rule the field is %v", free)
	}
	w.WaitField(kit.ConfigMaps, "settings", "data.free", "declared")
	now := time.Now()
	check.That(t, !now.Before(until.Time), "the field was restored %s before the end of the rule", until.Sub(now))
	w.exceptions("app")

	w.PatchHelmRelease("app", `{"spec":{"ignore":[{"paths":["/data/free"],"until":"2020-01-01T00:00:00Z"}]}}`)
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"free":"edited"}}`)
	w.WaitField(kit.ConfigMaps, "settings", "data.free", "declared")
}
