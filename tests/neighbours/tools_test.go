package neighbours

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// values writes a file of values and returns its path.
func (w *fixture) values(key string) string {
	w.Helper()
	path := filepath.Join(w.TempDir(), "values.yaml")
	check.NoError(w, os.WriteFile(path, []byte("key: "+key+"\n"), 0o600))
	return path
}

// records returns the versions of all Helm records in Apps.
func (w *fixture) records() map[string]string {
	w.Helper()
	list, err := w.Kube.CoreV1().Secrets(w.Apps).List(w.Ctx, metav1.ListOptions{LabelSelector: "owner=helm"})
	check.NoError(w, err)
	versions := map[string]string{}
	for _, s := range list.Items {
		versions[s.Name] = s.ResourceVersion
	}
	return versions
}

// Terraform's provider uses Helm's library, and this names the field manager after the program: the provider's binary
// has its version in its name, so each new version is another manager. A plan is a dry run of the upgrade.
//
// The stand-in is Helm's command with the provider's defaults (resource_helm_release.go of its source: wait, 300 s,
// no limit of the history) under those names. The provider is built on Helm 3 today; Helm 4 is its future.
func TestNeighbour_Terraform(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.CreateHelmRelease("app")
		older, newer := w.AsTool(h, "terraform-provider-helm_v2.17.0_x5"), w.AsTool(h, "terraform-provider-helm_v3.0.2_x5")
		chart := w.Chart("app", settings)
		apply := func(command, key string) []string {
			args := []string{command, "app", chart, "--set", "key=" + key, "--wait", "--timeout", "300s"}
			if command == "upgrade" {
				args = append(args, "--history-max", "0")
			}
			return args
		}
		w.Helm(older, apply("install", "one")...)
		w.protected(1, "one")
		before := w.records()
		w.Helm(older, append(apply("upgrade", "two"), "--dry-run=server")...)
		w.PassFence()
		w.ExpectNoWrites()
		after := w.records()
		check.That(t, len(after) == len(before), "a plan stored a record: %v", after)
		w.ExpectKey("settings", "one")
		w.Helm(older, apply("upgrade", "two")...)
		w.protected(2, "two")
		upgrade := apply("upgrade", "three")
		if h.Name == helm4 {
			upgrade = append(upgrade, "--force-conflicts") // the provider's older version is another owner, locked or not
		}
		w.Helm(newer, upgrade...)
		w.protected(3, "three")
		w.Helm(newer, apply("upgrade", "four")...)
		w.protected(4, "four")
		w.Helm(newer, "uninstall", "app", "--wait", "--timeout", "300s")
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
	})
}

// Rancher's Apps run Helm's command in a Pod. The stand-in is that command with the flags printed by Rancher at the
// beginning of its log. Its labels are stored in the record, which the operator watches by its labels.
func TestNeighbour_Rancher(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.CreateHelmRelease("app")
		chart := w.Chart("app", settings)
		wait := "--wait=true"
		if h.Name == helm4 { // has other values for it
			wait = "--wait=watcher"
		}
		operation := func(key string) []string {
			return []string{"upgrade", "--history-max=5", "--install=true",
				"--labels=catalog.cattle.io/cluster-repo-name=rancher-charts", "--reset-values=true", "--timeout=5m0s",
				"--values=" + w.values(key), wait, "app", chart}
		}
		for i, key := range []string{"one", "two"} {
			w.Helm(h, operation(key)...)
			w.protected(i+1, key)
		}
		w.Helm(h, "uninstall", "--timeout=5m0s", "app")
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
		w.PassFence()
		w.isGone("settings")
	})
}

// The helm-controller of k3s and RKE2 runs Helm's command in a Job, through the script of klipper-helm: install or
// upgrade with --set-string and values, a pending operation is set to failed, and a failed release is uninstalled and
// installed again (failurePolicy: reinstall). The stand-in is those commands with the controller's label.
// TestNode_K3sHelmController has the real one.
func TestNeighbour_K3s(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.CreateHelmRelease("app")
		chart := w.Chart("app", settings)
		set := []string{"--set-string", "global.clusterCIDR=10.42.0.0/16", "--set-string", "global.systemDefaultRegistry=",
			"--labels", "helmcharts.helm.cattle.io/configHash=0A1B"}
		run := func(command, key string) []string {
			return append(append([]string{command}, set...), "app", chart, "--values", w.values(key))
		}
		w.Helm(h, run("install", "one")...)
		w.protected(1, "one")
		w.Helm(h, run("upgrade", "two")...)
		w.protected(2, "two")

		err := w.killAt(h, 2, append(run("upgrade", "three"), "--namespace", w.Apps)...)
		check.Must(t, err != nil, "the upgrade was to be killed")
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)
		w.setStatus(3, "failed")
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonNotDeployed, "failed")
		w.PassFence()
		w.ExpectNoWrites()
		w.Helm(h, "uninstall", "app", "--wait")
		w.Helm(h, run("install", "four")...)
		w.protected(1, "four")
	})
}

// The plugin helm-diff and `helm upgrade --dry-run` only read. Reverted drift is no difference. tests/real runs
// the plugin by helmfile, too.
//
// The stand-in for helm-diff makes its requests to Helm and the API server (kit.HelmDiff).
func TestNeighbour_HelmDiff(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		h.Plugins = w.HelmDiff()
		w.CreateHelmRelease("app")
		chart := w.Chart("app", settings)
		w.Helm(h, "install", "app", chart, "--values", w.values("one"))
		w.protected(1, "one")
		before := w.records()
		diff := func(key string) []string {
			return []string{"diff", "upgrade", "app", chart, "--values", w.values(key), "--detailed-exitcode"}
		}
		w.Helm(h, diff("one")...)
		w.fails(h, diff("two")...)
		w.Helm(h, "upgrade", "app", chart, "--values", w.values("two"), "--dry-run=server")
		w.PassFence()
		w.ExpectNoWrites()
		after := w.records()
		check.That(t, maps.Equal(after, before), "a difference changed the records %v to %v", before, after)
		w.protected(1, "one")
	})
}
