package clitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// TestMigration takes releases over from the older operator.
func TestMigration(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w, _, chart := underOlder(t, helm)
		// No operator runs now.
		w.Patch(kit.ConfigMaps, "stall", `{"data":{"size":"11"}}`)
		w.Delete(kit.Services, "stall")

		proxy := w.NewProxy()
		op := kit.StartOperator(t, proxy.RESTConfig(), w.Operator)
		hr := w.WaitReady("stall", 1)
		w.WaitField(kit.ConfigMaps, "stall", "data.size", "10")
		w.WaitNewObject(kit.Services, "stall", "")
		check.That(t, len(hr.Finalizers) == 0, "the HelmRelease has finalizers: %v", hr.Finalizers)
		// The Service was re-created without the marks.
		found := marks(w.Get(kit.Services, "stall"))
		check.That(t, len(found) == 0, "the re-created Service has %v", found)
		w.migrateAndLook(t, proxy)
		w.stillLocked(t)

		// Helm continues from there, client-side and server-side, whatever the older operator had reverted.
		upgrade := func(h cluster.Helm, color, port, tag string, more ...string) {
			t.Helper()
			w.Helm(h, append([]string{"upgrade", "stall", chart, "--set", "password=" +
				secretValue, "--set", "color=" + color, "--set", "port=" + port, "--set", "tag=" + tag}, more...)...)
			got := kit.Field(w.Get(kit.ConfigMaps, "stall"), "data.color")
			check.That(t, got == color, "color is %v, want %s", got, color)
		}
		upgrade(helm, "blue", "82", "2")
		w.WaitReady("stall", 2)
		upgrade(kit.Shared.Helm4(), "red", "83", "3", "--server-side=true")
		w.WaitReady("stall", 3)
		w.stillLocked(t)
		w.eachObject(func(u *unstructured.Unstructured) {
			found := marks(u)
			check.That(t, len(found) <= 1 && (len(found) != 1 || u.GetName() == "declared"), "%s %s has %v",
				u.GetKind(), u.GetName(), found)
		})
		check.That(t, !strings.Contains(op.Log(), secretValue), "the log gives a Secret away")
	})
}

// migrateAndLook runs migrate in all its modes, while the operator behind proxy observes.
func (w *fixture) migrateAndLook(t *testing.T, proxy *cluster.Proxy) {
	t.Helper()
	foreign := w.Get(kit.ConfigMaps, "theirs")
	resources := []schema.GroupVersionResource{kit.ConfigMaps, kit.Secrets, kit.Services, kit.Deployments}
	before := w.Versions(w.Apps, resources...)
	w.app("migrate", "stall", "--dry-run").says(0,
		"release APPS/stall, revision 1: 4 of 6 objects marked by the older operator\n",
		"  ConfigMap APPS/stall\n    label objectset.rio.cattle.io/hash\n    annotation objectset.rio.cattle.io/applied\n",
		"fields of manager helm-locker become Helm's", "nothing was written (dry run); 4 objects would be cleaned\n")
	w.app("migrate", "stall").says(1,
		"nothing was changed: there is no terminal to ask at\n  --yes does it without asking; --dry-run only looks\n")
	w.ExpectVersions(before, w.Apps, resources...)

	w.CreateHelmRelease("early", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "to-come" })
	proxy.Reset()
	w.app("migrate", "--yes").says(0, "4 objects cleaned\n", "note: release APPS/to-come is left out: it does not exist\n")
	w.eachObject(func(u *unstructured.Unstructured) {
		want := 0
		if u.GetName() == "declared" {
			want = 1 // what the manifest declares stays
		}
		found := marks(u)
		check.That(t, len(found) == want, "%s %s still has %v", u.GetKind(), u.GetName(), found)
	})
	if now := w.Get(kit.ConfigMaps, "theirs"); now.GetResourceVersion() != foreign.GetResourceVersion() ||
		len(marks(now)) < 5 {
		t.Errorf("an object of somebody else was written: %v", marks(now))
	}
	after := w.Versions(w.Apps, resources...)
	w.app("migrate", "stall", "--yes").is(0,
		"release APPS/stall, revision 1: 0 of 6 objects marked by the older operator\n0 objects cleaned\n", "")
	// Others' releases, too.
	all := w.cli("migrate", "-A", "--dry-run")
	check.That(t, strings.Contains(all.stdout, "release APPS/stall, revision 1: 0 of 6"), "of all namespaces it says %s%s",
		all.stdout, all.stderr)
	w.ExpectVersions(after, w.Apps, resources...)
	// Three restored edits later the operator has seen all of it, and has written nothing but those.
	for i := range 3 {
		w.Patch(kit.ConfigMaps, "stall", fmt.Sprintf(`{"data":{"size":"%d"}}`, 20+i))
		w.WaitField(kit.ConfigMaps, "stall", "data.size", "10")
	}
	for _, r := range kit.ObjectWrites(proxy) {
		check.That(t, strings.HasSuffix(r.Path, "/configmaps/stall"), "the operator wrote: %s %s", r, r.Body)
	}
}

// stillLocked fails the test unless a change is reverted.
func (w *fixture) stillLocked(t *testing.T) {
	t.Helper()
	want := kit.Field(w.Get(kit.ConfigMaps, "stall"), "data.color")
	w.Patch(kit.ConfigMaps, "stall", `{"data":{"color":"tampered"}}`)
	w.WaitField(kit.ConfigMaps, "stall", "data.color", want)
}

// TestMigrationBeforeTakingOver: the older operator would mark everything again.
func TestMigrationBeforeTakingOver(t *testing.T) {
	w, _, _ := underOlder(t, kit.Shared.Helm3())
	before := w.Versions(w.Apps, kit.ConfigMaps)
	w.app("migrate", "stall", "--dry-run").says(0, "5 of 6 objects marked")
	w.app("migrate", "stall", "--yes").says(1,
		"release APPS/stall is left as it is: its HelmRelease still has the older operator's finalizer\n",
		"0 objects cleaned\n")
	w.ExpectVersions(before, w.Apps, kit.ConfigMaps)
	w.app("migrate", "nothing", "--yes").says(5, "release APPS/nothing does not exist")
	w.app("migrate", "stall", "-A").says(1, "name releases or say --all-namespaces, not both")
}

// TestMigrationOfWhatIsNotLocked: a release without a HelmRelease can be named.
func TestMigrationOfWhatIsNotLocked(t *testing.T) {
	w, older, _ := underOlder(t, kit.Shared.Helm3())
	w.app("unlock", "stall").says(0, "deleted")
	w.PatchHelmRelease("stall", `{"metadata":{"finalizers":null}}`)
	const nothing = "there is nothing to migrate: no HelmRelease in namespace LOCKER names a release in namespace APPS\n"
	w.app("migrate").is(5, "", "helm-locker: "+nothing+"  --allow-empty accepts that\n")
	w.app("migrate", "--allow-empty").is(0, "0 objects cleaned\n", nothing)

	// One object is not for us to patch.
	view := w.as("half", rule("get,list", "", "secrets,configmaps,services"), rule("get", "apps", "deployments"),
		rule("patch", "", "configmaps,secrets,services"))
	view.app("migrate", "stall", "--yes").says(1, "  cannot clean Deployment APPS/stall: ", "verbs: [patch]",
		"4 objects cleaned\n")
	found := marks(w.Get(kit.Deployments, "stall"))
	check.That(t, len(found) >= 5, "the Deployment has only %v", found)
	// The annotations were removed by hand: the hash remains as a sign.
	older.Lock("stall", w.Helm(kit.Shared.Helm3(), "get", "manifest", "stall"))
	remove := map[string]any{}
	for key := range w.Get(kit.ConfigMaps, "stall").GetAnnotations() {
		if strings.HasPrefix(key, "objectset.") {
			remove[key] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": remove}})
	check.NoError(t, err)
	_, err = w.In(kit.ConfigMaps, w.Apps).Patch(w.Ctx, "stall", types.MergePatchType, patch, metav1.PatchOptions{})
	check.NoError(t, err)
	w.app("migrate", "stall", "--yes").says(0,
		"  ConfigMap APPS/stall\n    label objectset.rio.cattle.io/hash\n  ConfigMap APPS/theirs\n",
		"6 objects cleaned\n")
	w.eachObject(func(u *unstructured.Unstructured) {
		if found := marks(u); len(found) > 0 && u.GetName() != "declared" {
			t.Errorf("%s %s still has %v", u.GetKind(), u.GetName(), found)
		}
	})
}

// TestMigrationStopsForHelm: migrate does not clean up objects once Helm has begun to change them.
func TestMigrationStopsForHelm(t *testing.T) {
	w, _, chart := underOlder(t, kit.Shared.Helm3())
	w.PatchHelmRelease("stall", `{"metadata":{"finalizers":null}}`)
	proxy := w.NewProxy()
	config, err := kit.Shared.KubeconfigFor(w.Apps+"-migrate", proxy.Via(kit.Shared.RESTConfig()))
	check.NoError(t, err)
	// An upgrade is stored between migrate's read of the Secret and its write.
	hold := proxy.HoldRequests(cluster.ForResource("secrets", http.MethodPatch))
	through := *w
	through.kubeconfig = config
	done := make(chan result, 1)
	go func() { done <- through.app("migrate", "stall", "--yes") }()
	check.NoError(t, hold.Wait(w.Ctx, 1))
	w.Helm(kit.Shared.Helm3(), "upgrade", "stall", chart, "--set", "password=another")
	upgraded := w.Versions(w.Apps, kit.Secrets, kit.Services)
	hold.Release()
	(<-done).says(1,
		"release APPS/stall: Helm is at work on it, or did not finish\n  run this again when helm status says deployed\n", "3 objects cleaned\n")
	w.ExpectVersions(upgraded, w.Apps, kit.Secrets, kit.Services)
	w.app("migrate", "stall", "--yes").says(0, "release APPS/stall, revision 2: 2 of 6 objects marked",
		"2 objects cleaned\n")
}
