package neighbours

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const helm4 = "helm 4"

// rollbackFlag returns Helm's flag for undoing a failed operation.
func rollbackFlag(h cluster.Helm) string {
	if h.Name == helm4 {
		return "--rollback-on-failure"
	}
	return "--atomic"
}

// An upgrade that fails and is rolled back by the same command, and an installation that is uninstalled by it: two or
// three records within a second, and the lock is on the last one.
func TestNeighbour_Atomic(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		chart := w.locked(h)
		w.fails(h, "upgrade", "app", chart, rollbackFlag(h), "--timeout", "20s", "--set", "key=two,broken=true")
		w.protected(3, "one")
		w.Helm(h, "upgrade", "app", chart, rollbackFlag(h), "--timeout", "20s", "--set", "key=four")
		w.protected(4, "four")

		w.CreateHelmRelease("fresh")
		w.fails(h, "install", "fresh", w.Chart("fresh", kit.ConfigMap("young", "one")+kit.RefusedService),
			rollbackFlag(h), "--timeout", "20s")
		w.WaitReason("fresh", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
		w.PassFence()
		w.ExpectNoWrites()
		w.isGone("young")
	})
}

// Helm replaces objects as a whole. Additions of others are removed then, by Helm and not by the operator, and Helm's
// ownership is preserved by a revert: the next upgrade needs no force.
func TestNeighbour_Force(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		chart := w.locked(h)
		w.Patch(kit.ConfigMaps, "settings", `{"data":{"mine":"added"}}`)
		force := []string{"--force"}
		if h.Name == helm4 {
			force = []string{"--force-replace", "--server-side=false"}
		}
		w.Helm(h, append([]string{"upgrade", "app", chart, "--set", "key=two"}, force...)...)
		w.protected(2, "two")
		mine := kit.Field(w.Get(kit.ConfigMaps, "settings"), "data.mine")
		check.That(t, mine == nil, "what others added is %v after Helm replaced the object", mine)
		w.Helm(h, "upgrade", "app", chart, "--set", "key=three")
		w.protected(3, "three")
		if h.Name != helm4 {
			return
		}
		w.Helm(h, "upgrade", "app", chart, "--set", "key=four", "--server-side=true")
		w.protected(4, "four")
		// Another applier shares the declared value, which is put right. Unlocked, Helm 4 takes it with
		// --force-conflicts only.
		w.as("other", kit.ConfigMaps, "settings", types.ApplyPatchType,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"key":"four"}}`)
		w.PassFence()
		w.Helm(h, "upgrade", "app", chart, "--set", "key=five")
		w.Proxy.Reset()
		w.protected(5, "five")
		w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
		w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
		w.as("other", kit.ConfigMaps, "settings", types.ApplyPatchType,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"key":"five"}}`)
		w.fails(h, "upgrade", "app", chart, "--set", "key=six")
		w.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonNotDeployed)
		w.Helm(h, "upgrade", "app", chart, "--set", "key=seven", "--force-conflicts")
		w.protected(7, "seven")
	})
}

// An object of no release becomes one of the release, and is locked from then on. (For one that another release owns
// see TestI1_AnotherReleaseTakesOwnership.)
func TestNeighbour_TakeOwnership(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.locked(h)
		w.Create(kit.ConfigMaps, w.Apps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan}, data: {key: theirs}}")
		upgrade := []string{"upgrade", "app", w.Chart("app", settings+kit.ConfigMap("orphan", "ours")), "--set", "key=two"}
		w.fails(h, upgrade...)
		w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
		upgrade = append(upgrade, "--take-ownership")
		if h.Name == helm4 {
			upgrade = append(upgrade, "--force-conflicts")
		}
		w.Helm(h, upgrade...)
		w.WaitReady("app", 0)
		w.PassFence()
		w.ExpectNoWrites()
		w.ExpectKey("orphan", "ours")
		w.Reverts("orphan", "ours")
	})
}

// A release that is uninstalled with its history kept stays uninstalled. When its name is used again, the numbers of
// its revisions continue. So do those of the replacement of a failed release, whose objects exist.
func TestNeighbour_KeepHistoryAndReplace(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		chart := w.locked(h)
		w.Helm(h, "uninstall", "app", "--keep-history")
		w.WaitState("app", v1alpha1.StateUninstalled)
		w.PassFence()
		w.ExpectNoWrites()
		w.isGone("settings")
		w.Helm(h, "install", "app", chart, "--replace", "--set", "key=two")
		w.protected(2, "two")
		w.fails(h, "upgrade", "app", chart, "--set", "key=three,broken=true")
		w.WaitState("app", v1alpha1.StateFailed)
		w.Helm(h, "install", "app", chart, "--replace", "--set", "key=four")
		w.protected(4, "four")
	})
}

// Helm records the output of a post-renderer, and so that is protected.
func TestNeighbour_PostRenderer(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		renderer := w.postRenderer(&h, `exec sed 's/key: "\(.*\)"/key: "rendered-\1"/'`)
		w.CreateHelmRelease("app")
		chart := w.Chart("app", settings)
		w.Helm(h, "install", "app", chart, "--set", "key=one", "--post-renderer", renderer)
		w.protected(1, "rendered-one")
		w.Helm(h, "upgrade", "app", chart, "--set", "key=two", "--post-renderer", renderer)
		w.protected(2, "rendered-two")
		w.Helm(h, "upgrade", "app", chart, "--set", "key=three")
		w.protected(3, "three")
	})
}

// postRenderer writes a post-renderer of one line of shell and returns Helm's argument for it: for Helm 3 its path,
// for Helm 4 the name of a plugin, whose directory is set in h.
func (w *fixture) postRenderer(h *cluster.Helm, line string) string {
	w.Helper()
	plugins := w.TempDir()
	dir := filepath.Join(plugins, "renderer")
	check.NoError(w, os.Mkdir(dir, 0o755))
	script := filepath.Join(dir, "render.sh")
	check.NoError(w, os.WriteFile(script, []byte("#!/bin/sh\n"+line+"\n"), 0o755))
	if h.Name != helm4 {
		return script
	}
	h.Plugins = plugins
	check.NoError(w, os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(`apiVersion: v1
type: postrenderer/v1
name: renderer
version: 0.1.0
runtime: subprocess
runtimeConfig: {platformCommand: [{command: "${HELM_PLUGIN_DIR}/render.sh"}]}
`), 0o600))
	return "renderer"
}
