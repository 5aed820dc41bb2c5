package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Helm 4 writes the definitions of a chart's crds directory before it stores a record. A definition declared by a
// locked release is determined by that release. The refusal names a remedy, and the remedy works.
func TestI13_DefinitionOfAnotherChart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	const newer = "    - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n"
	group := f.Apps + ".example.com"
	check.NoError(t, f.Cluster.Except("I13", "widgets."+group, "Helm writes crds before it stores a record"))
	in := func(text string) string { return strings.ReplaceAll(text, "GROUP", group) }
	declaring := f.guarded(kit.Shared.Helm4(), "shop", in(definition)+"{{ if .Values.newer }}\n"+newer+"{{ end }}\n")
	definitions := f.In(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}, "")

	other := f.Chart("other", in("apiVersion: GROUP/v2\nkind: Widget\nmetadata: {name: one}\n"))
	check.NoError(t, os.Mkdir(filepath.Join(other, "crds"), 0o700))
	check.NoError(t, os.WriteFile(filepath.Join(other, "crds", "widgets.yaml"), []byte(in(definition+newer)), 0o600))
	f.Until("the API server asks the guard", func() (any, bool) {
		_, err := kit.Shared.Helm4().Run(f.Ctx, "install", "other", other, "--namespace", f.Apps)
		return err, err != nil && strings.Contains(err.Error(), "upgrade shop to a revision that declares what that "+
			"chart needs, and install the chart with --skip-crds")
	})
	u, err := definitions.Get(f.Ctx, "widgets."+group, metav1.GetOptions{})
	check.NoError(t, err)
	if versions := kit.Field(u, "spec.versions").([]any); len(versions) != 1 {
		t.Errorf("the definition has %d versions", len(versions))
	}
	f.Helm(kit.Shared.Helm4(), "upgrade", "shop", declaring, "--set", "newer=true")
	f.WaitReady("shop", 2)
	f.Helm(kit.Shared.Helm4(), "install", "other", other, "--skip-crds")
}
