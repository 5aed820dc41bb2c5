package integration

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func (w *fixture) fromYAML(text string, into any) {
	w.Helper()
	check.NoError(w, yaml.Unmarshal([]byte(text), into))
}

const ignorable = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {tier: web}}
data: {key: declared, free: declared, shared: declared}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: exempt}
data: {key: declared}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1"}, {name: side, image: "example.com/side:1"}]}
`

const rulesOfApp = `
- {paths: [/data/free], target: {kind: ConfigMap, labelSelector: tier=web}}
- {paths: [/data/shared], managers: [trusted-*]}
- {paths: [""], target: {name: exempt}}
- {paths: ["/spec/template/spec/containers/*/image"], target: {kind: Deployment}}
`

// Ignored fields are never written, even when another field of the object is reverted; if the rule names managers,
// only their values are ignored. Other fields are protected as ever.
func TestIgnoreRules(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Installed(helm, "app", ignorable,
			func(hr *v1alpha1.HelmRelease) { w.fromYAML(rulesOfApp, &hr.Spec.Ignore) })
		w.exceptions("app", "Ignored ConfigMap/exempt ", "Ignored ConfigMap/settings /data/free,/data/shared",
			"Ignored Deployment/web /spec/template/spec/containers/*/image")
		history := w.Record(kit.ConfigMaps, kit.Deployments)
		w.Proxy.Reset()
		w.PatchAs("somebody", kit.ConfigMaps, "settings", `{"data":{"free":"edited"}}`)
		w.PatchAs("trusted-one", kit.ConfigMaps, "settings", `{"data":{"shared":"trusted"}}`)
		w.PatchAs("somebody", kit.ConfigMaps, "exempt", `{"data":{"key":"edited"}}`)
		w.Strategic(kit.Deployments, "web",
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/web:2"}]}}}}`)
		w.PassFence()
		w.ExpectNoWrites()

		w.PatchAs("somebody", kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		w.scale("web", 3)
		w.WaitField(kit.Deployments, "web", "spec.replicas", int64(1))
		history.CatchUp()
		for _, u := range history.States(kit.ConfigMaps, "settings")[1:] {
			check.That(t, kit.Field(u, "data.free") == "edited", "an ignored key was written: %v", u.Object["data"])
		}
		got := kit.Field(w.Get(kit.ConfigMaps, "settings"), "data.shared")
		check.That(t, got == "trusted", "the trusted manager's key is %v", got)
		if got := w.text(kit.Deployments, "web"); !strings.Contains(got, "example.com/web:2") ||
			!strings.Contains(got, "example.com/side:1") {
			t.Errorf("images: %s", got)
		}
		// The same key, changed by a manager outside the rule.
		w.PatchAs("somebody", kit.ConfigMaps, "settings", `{"data":{"shared":"tampered"}}`)
		w.WaitField(kit.ConfigMaps, "settings", "data.shared", "declared")
		// A deleted object is re-created as a whole; a wholly exempt one is not.
		old := w.Get(kit.ConfigMaps, "settings").GetUID()
		w.Delete(kit.ConfigMaps, "settings")
		w.Delete(kit.ConfigMaps, "exempt")
		u := w.WaitNewObject(kit.ConfigMaps, "settings", old)
		check.That(t, kit.Field(u, "data.free") == "declared", "it came back with %v", u.Object["data"])
		w.PassFence()
		check.That(t, w.Get(kit.ConfigMaps, "exempt") == nil, "the exempt object came back")
		// Without its rules everything is protected again.
		w.PatchHelmRelease("app", `{"spec":{"ignore":null}}`)
		w.WaitField(kit.ConfigMaps, "exempt", "data.key", "declared")
		w.WaitField(kit.Deployments, "web", webImage, "example.com/web:1")
		w.exceptions("app")
		w.Helm(helm, "upgrade", "app", chart)
		w.WaitReady("app", 2)
	})
}

// A rule with an end leaves its field alone until then. The rest of the object stays protected, and the field is
// restored by itself.
func TestIgnoreRules_EndByThemselves(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
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
