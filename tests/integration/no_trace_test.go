package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/kit"
)

func TestI3_LockingWritesNothing(t *testing.T) {
	for name, helm := range helms() {
		t.Run("to the objects of a release of "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Helm(helm, "install", "app", w.Chart("app", withKeptObjects+application))
			before := w.Versions(w.Apps, stable...)
			w.proxy.Reset()
			w.Lock("app")
			w.ExpectVersions(before, w.Apps, stable...)
			w.expectNoWrites()
			if finalizers := w.HelmRelease("app").Finalizers; len(finalizers) > 0 {
				t.Errorf("the HelmRelease has finalizers: %v", finalizers)
			}
			// Nor does unlocking.
			w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
			w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
			w.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
			w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
			w.WaitReady("app", 1)
			w.ExpectVersions(before, w.Apps, stable...)
			w.expectNoWrites()
		})
	}
	t.Run("and takes the finalizer of older operators off", func(t *testing.T) {
		t.Parallel()
		e := kit.New(t, shared)
		e.Forge(kit.ForgedRecord{Name: "app", Manifest: configMap("one", "declared")})
		legacy := func(hr *v1alpha1.HelmRelease) {
			hr.Finalizers = []string{v1alpha1.LegacyFinalizer, "example.com/of-somebody-else"}
		}
		e.CreateHelmRelease("app", legacy)
		// This one hangs already, as it does when the older operator was uninstalled first.
		e.CreateHelmRelease("hanging", func(hr *v1alpha1.HelmRelease) { hr.Finalizers = []string{v1alpha1.LegacyFinalizer} })
		if err := e.In(kit.HelmReleases, e.Operator).Delete(e.Ctx, "hanging", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		op := kit.StartOperator(t, e.Cluster.RESTConfig(), e.Operator)
		hr := e.WaitReady("app", 1)
		if len(hr.Finalizers) != 1 || hr.Finalizers[0] != "example.com/of-somebody-else" {
			t.Errorf("finalizers are %v", hr.Finalizers)
		}
		e.Eventually("the HelmRelease that hung is gone", func() error {
			_, err := e.In(kit.HelmReleases, e.Operator).Get(e.Ctx, "hanging", metav1.GetOptions{})
			return notFound(err)
		})
		e.PatchHelmRelease("app", `{"metadata":{"finalizers":null}}`)
		op.Stop()
		e.DeleteHelmRelease("app") // does not hang although the operator is gone
	})
}
