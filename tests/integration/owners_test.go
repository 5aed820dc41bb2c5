package integration

import (
	"fmt"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// An undeclared owner reference is reverted in scope Declared, too: the garbage collector would delete the object,
// now or with its owner. spec.ignore names controllers that add one.
func TestHostile_AnOwnerReferenceIsReverted(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.Helm(h, "install", "app", w.Chart("app", kit.ConfigMap("settings", "declared")+kit.ConfigMap("left", "declared")))
		w.Lock("app", func(hr *v1alpha1.HelmRelease) {
			hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/metadata/ownerReferences"},
				Managers: []string{"adopter"}, Target: &v1alpha1.IgnoreTarget{Name: "left"}}}
		})
		owner := w.Get(kit.ConfigMaps, "left").GetUID()
		patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"left","uid":%q}]}}`,
			owner)
		w.Patch(kit.ConfigMaps, "settings", patch)
		w.Until("the reference is gone", func() (any, bool) {
			u := w.Get(kit.ConfigMaps, "settings")
			return u.GetOwnerReferences(), len(u.GetOwnerReferences()) == 0
		})
		w.WaitReady("app", 0)
		w.Kubectl("-n", w.Apps, "patch", "configmap", "left", "--field-manager=adopter", "--type=merge", "-p", patch)
		w.Reverts("left", "declared")
		refs := w.Get(kit.ConfigMaps, "left").GetOwnerReferences()
		check.That(t, len(refs) == 1, "the references are %v, and are ignored", refs)
	})
}
