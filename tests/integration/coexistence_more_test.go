package integration

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

const allocated = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "example.com/db:1"}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
`

// Allocations of the API server and the controllers (addresses, node ports, volumes, tokens) stay, in both scopes.
func TestCoexistence_Allocations(t *testing.T) {
	t.Parallel()
	for version, helm := range kit.Helms(kit.Shared) {
		for _, scope := range []v1alpha1.Scope{v1alpha1.ScopeDeclared, v1alpha1.ScopeStrict} {
			t.Run(fmt.Sprintf("%s, scope %s", version, scope), func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				chart := w.Chart("app", allocated)
				w.Helm(helm, "install", "app", chart)
				w.Proxy.Reset()
				w.Lock("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = scope })
				w.PatchAs("kube-controller-manager", volumeClaims, "data",
					`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"pv-1"}}`)
				w.PatchAs("cloud-controller-manager", kit.Services, "web",
					`{"metadata":{"finalizers":["service.kubernetes.io/load-balancer-cleanup"]}}`)
				w.PatchAs("kube-controller-manager", serviceAccounts, "robot", `{"secrets":[{"name":"robot-token"}]}`)
				w.PassFence()
				w.ExpectNoWrites()
				before := w.Get(kit.Services, "web")
				w.Patch(kit.Services, "web", `{"spec":{"selector":{"app":"tampered"}}}`)
				w.WaitField(kit.Services, "web", "spec.selector.app", "web")
				after := w.Get(kit.Services, "web")
				for _, path := range []string{"spec.clusterIP", "spec.ports"} {
					got, want := w.asJSON(kit.Field(after, path)), w.asJSON(kit.Field(before, path))
					check.That(t, got == want, "%s: %s became %s", path, want, got)
				}
				w.Patch(kit.Services, "web", `{"metadata":{"finalizers":null}}`)
				w.Helm(helm, "upgrade", "app", chart)
				w.WaitReady("app", 2)
			})
		}
	}
}

// Objects in a terminating namespace wait, and are created once a namespace of that name exists again.
func TestCoexistence_NamespaceBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.Namespace(w.Apps + "-other")
	w.Installed(kit.Shared.Helm4(), "app", kit.ConfigMapIn(other, "held", "declared")+
		kit.ConfigMapIn(other, "free", "declared")+kit.ConfigMap("home", "declared"))
	w.PatchIn(kit.ConfigMaps, other, "held", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	check.NoError(t, w.Kube.CoreV1().Namespaces().Delete(w.Ctx, other, metav1.DeleteOptions{}))
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted, other)
	w.Reverts("home", "declared")
	w.PatchIn(kit.ConfigMaps, other, "held", `{"metadata":{"finalizers":null}}`)
	w.WaitGone(namespaces, "", other)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, other)
	w.Namespace(other)
	w.WaitFieldIn(kit.ConfigMaps, other, "held", "data.key", "declared")
	w.WaitFieldIn(kit.ConfigMaps, other, "free", "data.key", "declared")
	w.WaitReady("app", 1)
}

// The HelmRelease that owns a release may be deleted before its first reconciliation; the next one then owns the
// release.
func TestI5_TheFirstHelmReleaseGoesBeforeItIsHandled(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("app", "declared")})
	ofApp := func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "app" }
	claim := w.Proxy.HoldRequests(cluster.ForPath("/helmreleases/app-1", http.MethodPatch))
	w.CreateHelmRelease("app-1", ofApp)
	w.WaitHeld(claim, 1)
	w.CreateHelmRelease("app-2", ofApp)
	w.WaitReason("app-2", v1alpha1.ConditionReady, v1alpha1.ReasonConflict)
	w.DeleteIn(kit.HelmReleases, w.Operator, "app-1")
	w.WaitReady("app-2", 1)
	claim.Release()
}
