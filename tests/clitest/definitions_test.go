package clitest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const boats = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.clitest.example}
spec:
  group: clitest.example
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, listKind: BoatList}
  versions:
    - &version
      name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
        sails: {type: integer}, crew: {type: array, items: {type: object, properties: {name: {type: string}, rank: {type: string}}}}}}}}}
    - {<<: *version, name: v2, storage: false}
`

// The definitions of a chart's crds/ that the cluster lacks, or has in a narrower form, are reported and not enforced.
func TestDefinitionsOfTheChart(t *testing.T) {
	w := newFixture(t)
	chart := w.chartWithDefinitions("fleet", map[string]string{"boats.yaml": boats, "README.md": "# Not YAML: {"})
	w.Helm(kit.Shared.Helm3(), "install", "fleet", chart)
	w.CreateHelmRelease("fleet")
	live := w.In(kit.Definitions, "")
	t.Cleanup(func() {
		err := live.Delete(context.Background(), "boats.clitest.example", metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) {
			check.Report(t, err)
		}
	})

	w.app("diff", "fleet").is(0, "release APPS/fleet, revision 1: no drift, 1 object compared\n", "")
	patch := func(text string) { w.PatchIn(kit.Definitions, "", "boats.clitest.example", text) }
	patch(`[{"op":"replace","path":"/spec/versions/1/served","value":false},
		{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/crew/items/properties/rank"}]`)
	const gap = "CustomResourceDefinition boats.clitest.example lacks /spec/crew/*/rank of version v1, version v2"
	w.app("diff", "fleet").is(0, "release APPS/fleet, revision 1: no drift, 1 object compared\n",
		"note: crds/ of release APPS/fleet, which Helm does not upgrade: "+gap+"\n")
	w.app("check").says(2, "warning  crds/ of release APPS/fleet: "+gap+"; Helm does not upgrade it, and the lock leaves it alone\n"+
		"         helm-locker values fleet -n APPS --chart-out DIR writes the chart with its crds/\n")
	patch(`[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"},
		{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-preserve-unknown-fields","value":true},
		{"op":"replace","path":"/spec/versions/1/served","value":true}]`)
	w.app("diff", "fleet").is(0, "release APPS/fleet, revision 1: no drift, 1 object compared\n", "")

	check.NoError(t, live.Delete(w.Ctx, "boats.clitest.example", metav1.DeleteOptions{}))
	w.app("diff", "fleet").is(0, "release APPS/fleet, revision 1: no drift, 1 object compared\n",
		"note: crds/ of release APPS/fleet, which Helm does not upgrade: CustomResourceDefinition boats.clitest.example does not exist\n")
}

// The text of a tenant in crds/ becomes no path of a request.
func TestHostile_DefinitionsOfTheChart(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "fleet", w.chartWithDefinitions("fleet", map[string]string{
		"a.yaml": strings.ReplaceAll(boats, "boats.clitest.example", "../../../api/v1/namespaces/"+w.Apps),
		"b.yaml": "\xff",
	}), "--skip-crds")
	w.app("diff", "fleet").is(0, "release APPS/fleet, revision 1: no drift, 1 object compared\n",
		"note: crds/ of release APPS/fleet, which Helm does not upgrade: crds/a.yaml of the chart cannot be read: "+
			"\"../../../api/v1/namespaces/APPS\" is no name of a CustomResourceDefinition\n"+
			"note: crds/ of release APPS/fleet, which Helm does not upgrade: crds/b.yaml of the chart cannot be read: "+
			"it is not within the bounds of YAML\n")
}

// chartWithDefinitions writes a chart of one ConfigMap with files in crds/, and returns its path.
func (w *fixture) chartWithDefinitions(name string, files map[string]string) string {
	w.Helper()
	chart := w.Chart(name, kit.ConfigMap(name, "one"))
	check.NoError(w, os.Mkdir(filepath.Join(chart, "crds"), 0o755))
	for file, text := range files {
		check.NoError(w, os.WriteFile(filepath.Join(chart, "crds", file), []byte(text), 0o600))
	}
	return chart
}
