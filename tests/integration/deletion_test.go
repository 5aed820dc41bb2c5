package integration

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The finalizer of the manifest is its own controller's: it is done first.
const deletable = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, finalizers: [example.com/own]}
data: {key: declared}
` + viewBinding + `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

const hold = `{"metadata":{"finalizers":["example.com/hold"]}}`

// holdOwn keeps the declared finalizer.
const holdOwn = `{"metadata":{"finalizers":["example.com/own","example.com/hold"]}}`

// A finalizer and a deletion are no way out of the lock: the content is reverted while the deletion is pending, nothing
// else is written, and the deletion is not held up.
func TestDeletion_ContentIsProtectedWhileItIsPending(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Installed(helm, "app", deletable)
		old := w.Patch(roleBindings, "view", hold)
		w.Delete(roleBindings, "view")
		w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, w.Apps+
			"/view", "deletion is pending", "example.com/hold", kit.Tamperer)
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted, "stays protected")
		w.WaitEvent("app", v1alpha1.EventReasonBeingDeleted)
		n := w.HelmRelease("app").Status.Objects.Drifted
		check.That(t, n == 1, "status counts %d drifted objects, want 1", n)

		w.Patch(roleBindings, "view",
			`{"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:unauthenticated"}]}`)
		w.WaitField(roleBindings, "view", "subjects", old.Object["subjects"])
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted, "example.com/hold")
		w.Proxy.Reset()
		w.PassFence()
		w.ExpectNoWrites()
		u := w.Get(roleBindings, "view")
		check.That(t, u.GetUID() == old.GetUID() && len(u.GetFinalizers()) == 1,
			"the pending object is %s with the finalizers %v", u.GetUID(), u.GetFinalizers())

		w.Patch(roleBindings, "view", `{"metadata":{"finalizers":null}}`)
		u = w.WaitNewObject(roleBindings, "view", old.GetUID())
		check.That(t, len(u.GetFinalizers()) == 0, "the new object has the finalizers %v", u.GetFinalizers())
		w.WaitReady("app", 1)
		w.Helm(helm, "upgrade", "app", chart)
		w.WaitReady("app", 2)
	})
}

// A declared, finished finalizer is not added again: the API server would refuse that, and with it every revert.
func TestDeletion_FinalizerOfTheManifestMayEnd(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", deletable)
		old := w.Patch(kit.ConfigMaps, "settings", holdOwn)
		w.Delete(kit.ConfigMaps, "settings")
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted, "example.com/own", "example.com/hold")
		w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"},"metadata":{"finalizers":["example.com/hold"]}}`)
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		w.Reverts("settings", "declared")
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted, "example.com/hold")
		w.Patch(kit.ConfigMaps, "settings", `{"metadata":{"finalizers":null}}`)
		u := w.WaitNewObject(kit.ConfigMaps, "settings", old.GetUID())
		check.That(t, fmt.Sprint(u.GetFinalizers()) == "[example.com/own]", "the new object has the finalizers %v",
			u.GetFinalizers())
		w.WaitReady("app", 1)
		w.Patch(kit.ConfigMaps, "settings", `{"metadata":{"finalizers":["example.com/own"]}}`)
	})
}

// In scope Strict a foreign finalizer is removed, too, and the object is re-created. An object that holds data keeps
// its finalizer.
func TestDeletion_Strict(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Helm(helm, "install", "app", w.Chart("app", deletable))
		old := w.Patch(roleBindings, "view", hold)
		claim := w.Patch(volumeClaims, "data", hold)
		w.Delete(roleBindings, "view")
		w.Delete(volumeClaims, "data")
		w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = v1alpha1.ScopeStrict })
		w.WaitNewObject(roleBindings, "view", old.GetUID())
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted, w.Apps+"/data", "example.com/hold")
		u := w.Get(volumeClaims, "data")
		check.That(t, u != nil && u.GetUID() == claim.GetUID(), "the claim is gone")
		w.Patch(volumeClaims, "data", `{"metadata":{"finalizers":null}}`)
		w.WaitReady("app", 1)
	})
}

// An object with a pending deletion is compared like any other when it is locked. If its change is irreversible, it
// is not deleted again.
func TestDeletion_PendingBeforeTheLock(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", deletable))
	binding := w.Patch(roleBindings, "view", hold)
	w.Delete(roleBindings, "view")
	w.Patch(roleBindings, "view", `{"subjects":[]}`)
	old := w.Patch(kit.ConfigMaps, "settings", holdOwn)
	w.Delete(kit.ConfigMaps, "settings")
	w.Patch(kit.ConfigMaps, "settings", `{"immutable":true,"data":{"key":"frozen"}}`)
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
	w.WaitField(roleBindings, "view", "subjects", binding.Object["subjects"])
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, w.Apps+
		"/settings", "data (", "deletion is pending")
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonRevertFailed)
	for _, r := range w.Proxy.Writes() {
		check.That(t, r.Method != http.MethodDelete, "%s", r)
	}
	w.Patch(kit.ConfigMaps, "settings", `{"metadata":{"finalizers":null}}`)
	w.WaitNewObject(kit.ConfigMaps, "settings", old.GetUID())
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.Patch(kit.ConfigMaps, "settings", `{"metadata":{"finalizers":["example.com/own"]}}`)
	w.Patch(roleBindings, "view", `{"metadata":{"finalizers":null}}`)
	w.WaitReady("app", 1)
}

const withNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: %[1]s}
data: {key: declared}
---
apiVersion: v1
kind: Service
metadata: {name: inside, namespace: %[1]s}
spec: {selector: {a: b}, ports: [{port: 80}]}
`

// A namespace of the release is deleted slowly. Each attempt to re-create its objects is refused, and the wait
// increases: here without an end, because the operator's clock stands still. Once the namespace exists again, its
// objects do, too.
func TestI5_ObjectsAreBackWithTheirNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clocktesting.NewFakeClock(time.Now()) })
	inner := w.Apps + "-inner"
	w.Installed(kit.Shared.Helm3(), "app", fmt.Sprintf(withNamespace, inner))
	_, err := w.Kube.CoreV1().Secrets(inner).Create(w.Ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "holder", Finalizers: []string{"tests.example.com/hold"},
	}}, metav1.CreateOptions{})
	check.NoError(t, err)
	w.Proxy.Reset()
	check.NoError(t, w.Kube.CoreV1().Namespaces().Delete(w.Ctx, inner, metav1.DeleteOptions{}))
	for _, resource := range []string{"configmaps", "services"} {
		w.Eventually("the re-creation of the "+resource+" was refused", func() error {
			refused := func(r cluster.Request) bool {
				return r.Method == http.MethodPost && r.Path == "/api/v1/namespaces/"+inner+"/"+
					resource && r.Code == http.StatusForbidden
			}
			if !slices.ContainsFunc(w.Proxy.Writes(), refused) {
				return fmt.Errorf("there are %d writes", len(w.Proxy.Writes()))
			}
			return nil
		})
	}
	w.PatchIn(kit.Secrets, inner, "holder", `{"metadata":{"finalizers":null}}`)
	w.WaitFieldIn(kit.ConfigMaps, inner, "inside", "data.key", "declared")
	w.WaitFieldIn(kit.Services, inner, "inside", "spec.selector.a", "b")
}
