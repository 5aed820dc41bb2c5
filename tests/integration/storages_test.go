package integration

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func bothStorages(o *operator.ControllerOptions) { o.ReleaseStorage = "secret,configmap" }

// inConfigMaps runs a test with every Helm version, with records in ConfigMaps.
func inConfigMaps(t *testing.T, do func(w *fixture, h cluster.Helm)) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		h.Driver = release.ConfigMaps.String()
		do(newFixture(t, bothStorages), h)
	})
}

// A release in ConfigMaps is locked through its whole life, beside releases in Secrets, and no write of Helm's is
// reverted.
func TestStorage_ReleaseInConfigMapsIsLocked(t *testing.T) {
	inConfigMaps(t, func(w *fixture, h cluster.Helm) {
		w.LockFence() // in a Secret
		chart := w.Chart("app", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: {{ .Values.value }}}\n")
		is := func(value string) {
			w.Helper()
			w.PassFence()
			w.ExpectKey("settings", value)
		}
		w.Helm(h, "install", "app", chart, "--set", "value=one")
		w.Proxy.Reset()
		w.Lock("app")
		w.ExpectNoWrites()
		w.Reverts("settings", "one")
		w.Delete(kit.ConfigMaps, "settings")
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "one")
		w.WaitReady("app", 1)
		w.Helm(h, "upgrade", "app", chart, "--set", "value=two")
		w.WaitReady("app", 2)
		is("two")
		w.Reverts("settings", "two")
		w.Helm(h, "rollback", "app", "1")
		w.WaitReady("app", 3)
		is("one")
		w.Reverts("settings", "one")
		w.Helm(h, "uninstall", "app", "--keep-history")
		w.WaitState("app", v1alpha1.StateUninstalled)
		w.PassFence()
		if w.Get(kit.ConfigMaps, "settings") != nil {
			w.Error("what Helm uninstalled is back")
		}
		w.Helm(h, "uninstall", "app")
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
		w.Helm(h, "install", "app", chart, "--set", "value=three")
		w.WaitReady("app", 1)
		is("three")
		w.Reverts("settings", "three")
	})
}

// Records in both storages: nothing is enforced until only one has some. A release uninstalled in one storage is
// still deployed in the other.
func TestStorage_RecordsInBothUnlock(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bothStorages)
	inSecret := kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "of the Secret")}
	inConfigMap := kit.ForgedRecord{Name: "app", Revision: 5, Manifest: kit.ConfigMap("settings", "of the ConfigMap"),
		Storage: release.ConfigMaps}
	w.Forge(inSecret)
	w.Lock("app")
	w.Forge(inConfigMap)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRecordsInTwoStorages, w.Apps+"/app",
		"delete the records that Helm does not use")
	w.WaitReason("app", v1alpha1.ConditionStalled, v1alpha1.ReasonRecordsInTwoStorages)
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	w.PassFence()
	w.ExpectKey("settings", "tampered")

	inSecret.Status = "uninstalled"
	w.Forge(inSecret)
	w.WaitReady("app", 5)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "of the ConfigMap")
	inSecret.Status = "pending-rollback"
	w.Forge(inSecret)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRecordsInTwoStorages)
	w.Delete(kit.Secrets, release.ObjectName("app", 1))
	w.WaitReady("app", 5)
	w.Reverts("settings", "of the ConfigMap")
}

// A release that an object says it belongs to has records in both storages, and only one of them declares the object:
// Helm may have taken the object over by that one, whichever was written last, and nothing is written to the object.
func TestStorage_ClaimOfAReleaseInBoth(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		declaring release.Storage
		elsewhere bool
	}{
		"Secrets": {release.Secrets, false}, "ConfigMaps": {release.ConfigMaps, false},
		"Secrets of another namespace": {release.Secrets, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, bothStorages)
			w.Forged("app", kit.ConfigMap("settings", "declared"))
			heir := w.Env
			if tc.elsewhere {
				heir = w.At(w.Namespace(w.Apps + "-storage"))
			}
			heir.Forge(kit.ForgedRecord{Name: "heir", Namespace: w.Apps, Manifest: kit.ConfigMap("settings", "inherited"),
				Storage: tc.declaring})
			heir.Forge(kit.ForgedRecord{Name: "heir", Namespace: w.Apps, Manifest: kit.ConfigMap("rest", "inherited"),
				Storage: release.Unread([]release.Storage{tc.declaring})[0]})
			w.Patch(kit.ConfigMaps, "settings", claimOfHeir)
			w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, heir.Apps+"/heir")
			w.PassFence()
			w.ExpectKey("settings", "inherited")
			heir.Delete(tc.declaring.GVR(), release.ObjectName("heir", 1))
			w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		})
	}
}

const claimOfHeir = `{"data":{"key":"inherited"},"metadata":{"annotations":{"meta.helm.sh/release-name":"heir"}}}`

// Records in both storages that declare other objects prove nothing about this one, in the release's own namespace and
// in another one: two records of anything would be a way out of every lock otherwise.
func TestHostile_AReleaseInBothStoragesOwnsWhatItDeclares(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bothStorages)
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	for _, forger := range []*kit.Env{w.At(w.Namespace(w.Apps + "-lair")), w.Env} {
		for _, storage := range release.Storages {
			forger.Forge(kit.ForgedRecord{Name: "heir", Namespace: w.Apps, Manifest: kit.ConfigMap("rest", "x"), Storage: storage})
		}
		w.Patch(kit.ConfigMaps, "settings", claimOfHeir)
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	}
	w.WaitReady("app", 1)
}

// Without the option a HelmRelease names the storage of the record. That takes one request, not repeated when
// HelmRelease or record change, and no watch.
func TestStorage_RecordThatIsNotReadIsNamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared"), Storage: release.ConfigMaps})
	looks := func() int {
		n := 0
		for _, r := range w.Proxy.Requests() {
			if r.Resource() == "configmaps" && strings.Contains(r.Query.Get("labelSelector"), "owner") {
				n++
			}
		}
		return n
	}
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRecordNotRead,
		"ConfigMap "+w.Apps+"/"+release.ObjectName("app", 1), "--release-storage=secret,configmap")
	w.WaitReason("app", v1alpha1.ConditionStalled, v1alpha1.ReasonRecordNotRead)
	w.PatchIn(kit.HelmReleases, w.Operator, "app", `{"metadata":{"labels":{"touched":"yes"}}}`)
	w.PassFence()
	n := looks()
	check.That(t, n == 1, "%d requests for records in ConfigMaps", n)
	check.That(t, w.Get(kit.ConfigMaps, "settings") == nil, "something was created of a record that is not read")
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "in the Secret")})
	w.WaitReady("app", 1)
	w.Delete(kit.Secrets, release.ObjectName("app", 1))
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRecordNotRead)
	n = looks()
	check.That(t, n == 2, "%d requests for records in ConfigMaps", n)
}

func TestStorage_LookingElsewhereMayBeForbidden(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Proxy.On(cluster.ForResource("configmaps").And(cluster.ForQuery("labelSelector", "owner")),
		cluster.Fail(http.StatusForbidden, "on purpose"))
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound,
		"the operator may not list ConfigMaps in namespace "+w.Apps)
}

// The limits for Secrets apply to ConfigMaps, and a ConfigMap with a record's labels only is no record.
func TestStorage_HostileConfigMaps(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bothStorages)
	bomb, err := kit.EncodeMembers(kit.Compressed{Content: []byte(`{"name":"bomb","manifest":"`)},
		kit.Compressed{Content: bytes.Repeat([]byte("a"), 1<<20), Times: 100})
	check.NoError(t, err)
	for name, tc := range map[string]struct {
		payload []byte
		says    string
	}{
		"bomb":      {bomb, "one value in it has more than 20971520 bytes"},
		"no-base64": {[]byte("this is not base64!"), "not JSON"},
		"empty":     {[]byte{}, "missing or empty"},
	} {
		w.Forge(kit.ForgedRecord{Name: name, Payload: tc.payload, Storage: release.ConfigMaps})
		w.CreateHelmRelease(name)
		w.Says(name, v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, tc.says,
			"ConfigMap "+w.Apps+"/"+release.ObjectName(name, 1))
	}
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared"), Storage: release.ConfigMaps})
	w.Lock("app")
	w.createIn(kit.ConfigMaps, w.Apps, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "mine", "labels": map[string]any{"owner": "helm", "name": "app", "version": "9", "status": "failed"}}})
	w.PassFence()
	w.Reverts("settings", "declared")
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "x"),
		Labels: map[string]string{"version": "7"}, Storage: release.ConfigMaps})
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed,
		fmt.Sprintf("ConfigMap %s/%s is not a Helm release record: label \"version\" is \"7\"", w.Apps, release.ObjectName("app", 2)))
}
