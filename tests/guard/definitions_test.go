package guard

import (
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Helm 4 writes the definitions of a chart's crds directory before it stores a record. A definition declared by a
// locked release is determined by that release. The refusal names a remedy, and the remedy works. This is the case
// 43-crds-of-another of ../shared/cases; TestCases in tests/fidelity has the others.
func TestI13_DefinitionOfAnotherChart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const name = "widgets.tamper.example.com"
	declaring, other := filepath.Join("testdata", "43-crds-of-another", "crdA"),
		filepath.Join("testdata", "43-crds-of-another", "crdB")
	check.NoError(t, f.Cluster.Except("I13", name, "Helm writes crds before it stores a record"))
	f.Helm(kit.Shared.Helm4(), "install", "shop", declaring)
	f.guard("shop")
	definitions := f.In(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}, "")

	f.Until("the API server asks the guard", func() (any, bool) {
		_, err := kit.Shared.Helm4().Run(f.Ctx, "install", "other", other, "--namespace", f.Apps)
		return err, err != nil && strings.Contains(err.Error(), "upgrade shop to a revision that declares what that "+
			"chart needs, and install the chart with --skip-crds")
	})
	u, err := definitions.Get(f.Ctx, name, metav1.GetOptions{})
	check.NoError(t, err)
	versions := kit.Field(u, "spec.versions").([]any)
	check.That(t, len(versions) == 1, "the definition has %d versions", len(versions))
	f.Helm(kit.Shared.Helm4(), "upgrade", "shop", declaring, "--set", "newer=true")
	f.WaitReady("shop", 2)
	f.Helm(kit.Shared.Helm4(), "install", "other", other, "--skip-crds")
}
