package neighbours

import (
	"encoding/json"
	"net/http"
	"path"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// fluxManager is the field manager of Flux's helm-controller.
const fluxManager = "helm-controller"

// flux stands in for Flux's helm-controller: the command of Helm 4 with the controller's settings of Helm's library
// (internal/action of its source: server-side apply for new releases, force on conflicts always, taking ownership,
// waiting, a history of 5), under its field manager. Its drift correction below follows internal/action/diff.go.
type flux struct {
	*fixture
	helm cluster.Helm
}

func (f *flux) install(chart, key string) {
	f.Helper()
	f.Helm(f.helm, "install", "app", chart, "--set", "key="+key, "--server-side=true", "--force-conflicts",
		"--take-ownership", "--wait", "--wait-for-jobs", "--skip-crds", "--devel")
}

// upgrade returns the arguments of an upgrade.
func (f *flux) upgrade(chart, set string) []string {
	return []string{"upgrade", "app", chart, "--set", set, "--server-side=auto", "--force-conflicts", "--take-ownership",
		"--wait", "--wait-for-jobs", "--reset-values", "--history-max", "5", "--skip-crds", "--devel"}
}

func (f *flux) rollback(revision string) {
	f.Helper()
	f.Helm(f.helm, "rollback", "app", revision, "--server-side=auto", "--force-conflicts", "--wait", "--wait-for-jobs",
		"--history-max", "5")
}

// desired returns settings as Flux wants it: the manifest with Helm's metadata.
func (f *flux) desired(key string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"data": map[string]any{"key": key}}}
	u.SetName("settings")
	u.SetNamespace(f.Apps)
	u.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
	u.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "app", "meta.helm.sh/release-namespace": f.Apps})
	return u
}

// drifted reports whether Flux finds settings drifted: whether a forced server-side apply, dry, changes it.
func (f *flux) drifted(key string) bool {
	f.Helper()
	body, err := json.Marshal(f.desired(key).Object)
	check.NoError(f, err)
	force := true
	client := f.In(kit.ConfigMaps, f.Apps)
	would, err := client.Patch(f.Ctx, "settings", types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: fluxManager, Force: &force, DryRun: []string{metav1.DryRunAll}})
	check.NoError(f, err)
	live := f.Get(kit.ConfigMaps, "settings")
	for _, u := range []*unstructured.Unstructured{would, live} {
		u.SetManagedFields(nil)
		u.SetResourceVersion("")
	}
	return !reflect.DeepEqual(would.Object, live.Object)
}

// Flux's helm-controller installs, upgrades, corrects drift itself, undoes a failed upgrade, ends an interrupted one,
// and uninstalls. It never meets a conflict, its drift detection finds no difference after a revert, and the operator
// writes nothing but reverts.
func TestNeighbour_Flux(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.CreateHelmRelease("app")
	f := &flux{w, w.AsTool(kit.Shared.Helm4(), fluxManager)}
	chart := w.Chart("app", settings)
	f.install(chart, "one")
	w.protected(1, "one")
	check.That(t, !f.drifted("one"), "Flux finds drift in what was reverted")
	w.Helm(f.helm, f.upgrade(chart, "key=two")...)
	w.protected(2, "two")

	t.Run("remediation by rollback", func(t *testing.T) {
		f := f.on(t)
		f.fails(f.helm, f.upgrade(chart, "key=three,broken=true")...)
		f.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonNotDeployed, "failed")
		f.rollback("2")
		f.protected(4, "two")
	})
	t.Run("its drift correction comes first", func(t *testing.T) { f.on(t).corrects() })
	t.Run("its drift correction creates first", func(t *testing.T) { f.on(t).recreates() })
	t.Run("a stale operation is ended", func(t *testing.T) {
		f := f.on(t)
		err := f.killAt(f.helm, 3, append(f.upgrade(chart, "key=five"), "--namespace", f.Apps)...)
		check.Must(t, err != nil, "the upgrade was to be killed")
		f.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)
		f.setStatus(5, "failed")
		f.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonNotDeployed)
		f.Helm(f.helm, f.upgrade(chart, "key=six")...)
		f.protected(6, "six")
	})
	t.Run("remediation by uninstallation", func(t *testing.T) {
		f := f.on(t)
		f.fails(f.helm, f.upgrade(chart, "key=seven,broken=true")...)
		f.Helm(f.helm, "uninstall", "app", "--wait", "--cascade", "background")
		f.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
		f.install(chart, "eight")
		f.protected(1, "eight")
	})
}

func (f *flux) on(t *testing.T) *flux { return &flux{&fixture{f.On(t)}, f.helm} }

// corrects makes Flux patch a drifted object while the operator's revert is in flight: the revert is refused, and the
// object is in sync after Flux's patch. The patch is an update, whose share of the field would refuse the next upgrade
// without force: the field returns to Flux's applies.
func (f *flux) corrects() {
	f.Helper()
	revert := f.Proxy.HoldRequests(isWriteTo("settings", http.MethodPatch))
	f.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	f.WaitHeld(revert, 1)
	if !f.drifted("two") {
		f.Error("Flux finds no drift")
	}
	f.as(fluxManager, kit.ConfigMaps, "settings", types.JSONPatchType,
		`[{"op":"replace","path":"/data/key","value":"two"}]`)
	revert.Release()
	f.PassFence()
	f.ExpectKey("settings", "two")
	if f.drifted("two") {
		f.Error("Flux finds drift in what it corrected")
	}
	for _, entry := range f.Get(kit.ConfigMaps, "settings").GetManagedFields() {
		if entry.Manager != fluxManager || entry.Operation != metav1.ManagedFieldsOperationApply {
			f.Errorf("%s %s holds %s", entry.Manager, entry.Operation, entry.FieldsV1)
		}
	}
	f.WaitReady("app", 4)
	f.Proxy.Reset()
}

// recreates has Flux create a deleted object while the operator's creation is on its way.
func (f *flux) recreates() {
	f.Helper()
	creation := f.Proxy.HoldRequests(isWriteTo("configmaps", http.MethodPost))
	f.Delete(kit.ConfigMaps, "settings")
	f.WaitHeld(creation, 1)
	made, err := f.In(kit.ConfigMaps, f.Apps).Create(f.Ctx, f.desired("two"),
		metav1.CreateOptions{FieldManager: fluxManager})
	check.NoError(f, err)
	creation.Release()
	f.PassFence()
	if u := f.Get(kit.ConfigMaps, "settings"); u.GetUID() != made.GetUID() {
		f.Error("what Flux created was replaced")
	}
	if f.drifted("two") {
		f.Error("Flux finds drift")
	}
	f.WaitReady("app", 4)
	f.Reverts("settings", "two")
	f.Proxy.Reset()
}

// isWriteTo matches requests of a method to an object, or for its creation to a resource.
func isWriteTo(last, method string) cluster.Match {
	return func(r *http.Request) bool {
		return r.Method == method && r.URL.Query().Get("dryRun") == "" && path.Base(r.URL.Path) == last
	}
}
