package integration

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	volumeClaims = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

	// stable are the resources without writes by the control plane's controllers.
	stable = []schema.GroupVersionResource{kit.ConfigMaps, kit.Secrets, kit.Services}
)

const application = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: "{{ .Values.key | default "declared" }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: credentials}
stringData: {password: swordfish}
` + web

// The record of a release is lost by accident (a purge of Secrets, a restored backup). Its objects are in use.
func TestI2_LostReleaseSecretDeletesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", application)
	before, web := w.Versions(w.Apps, stable...), w.Get(kit.Deployments, "web").GetUID()
	w.Proxy.Reset()

	w.Delete(kit.Secrets, "sh.helm.release.v1.app.v1")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound, w.Apps+"/app")
	w.WaitState("app", v1alpha1.StateSecretNotFound)
	w.ExpectVersions(before, w.Apps, stable...)

	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"edited"}}`)
	w.PassFence()
	w.ExpectKey("settings", "edited")
	w.ExpectNoWrites()
	u := w.Get(kit.Deployments, "web")
	check.That(t, u != nil && u.GetUID() == web, "the Deployment is gone")
}

func TestI2_DeletedHelmReleaseChangesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", application)
	w.Reverts("settings", "declared")
	before := w.Versions(w.Apps, stable...)
	w.Proxy.Reset()

	w.DeleteHelmRelease("app")
	w.WaitLog(w.Running, "no longer managing release "+w.Apps+"/app")
	w.ExpectVersions(before, w.Apps, stable...)
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"edited"}}`)
	w.Delete(kit.Services, "web")
	w.PassFence()
	w.ExpectKey("settings", "edited")
	check.That(t, w.Get(kit.Services, "web") == nil, "the Service was created again")
	w.ExpectNoWrites()
}

// An unreadable record is no evidence about the objects of its release.
func TestI2_DecodeErrorDeletesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	record := kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("one", "declared") + kit.ConfigMap("two", "declared")}
	w.Forge(record)
	w.Lock("app")
	before := w.Versions(w.Apps, stable...)
	w.Proxy.Reset()

	record.Payload = []byte("H4sIAAAAAAAA/damaged")
	w.Forge(record)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, "sh.helm.release.v1.app.v1")
	w.ExpectVersions(before, w.Apps, stable...)
	w.Patch(kit.ConfigMaps, "one", `{"data":{"key":"edited"}}`)
	w.PassFence()
	w.ExpectKey("one", "edited")
	w.ExpectNoWrites()

	record.Payload = nil
	w.Forge(record)
	w.WaitReady("app", 1)
	w.WaitField(kit.ConfigMaps, "one", "data.key", "declared")
}

const withKeptObjects = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {helm.sh/resource-policy: keep}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kept.{{ .Release.Namespace }}.example.com, annotations: {helm.sh/resource-policy: keep}}
spec:
  group: {{ .Release.Namespace }}.example.com
  names: {kind: Kept, plural: kept}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
`

func TestI2_KeptObjectsSurviveUninstall(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", withKeptObjects+application)
		claim := w.Get(volumeClaims, "data").GetUID()
		crd, err := w.In(kit.Definitions, "").Get(w.Ctx, "kept."+w.Apps+".example.com", metav1.GetOptions{})
		check.NoError(t, err)
		w.Proxy.Reset()

		w.Helm(helm, "uninstall", "app")
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
		w.PassFence()
		w.ExpectNoWrites()
		for resource, name := range map[schema.GroupVersionResource]string{
			kit.ConfigMaps: "settings", kit.Secrets: "credentials", kit.Services: "web", kit.Deployments: "web",
		} {
			if _, err := w.In(resource, w.Apps).Get(w.Ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("%s %s is not gone after helm uninstall: %v", resource.Resource, name, err)
			}
		}
		u := w.Get(volumeClaims, "data")
		check.That(t, u != nil && u.GetUID() == claim && u.GetDeletionTimestamp() == nil,
			"the claim with resource-policy keep is gone")
		kept, err := w.In(kit.Definitions, "").Get(w.Ctx, crd.GetName(), metav1.GetOptions{})
		check.That(t, err == nil && kept.GetUID() == crd.GetUID() && kept.GetDeletionTimestamp() == nil,
			"the definition with resource-policy keep is gone: %v", err)
	})
}
