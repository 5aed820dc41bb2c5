package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const definitionName = "helmreleases.helm.cattle.io"

// newField is a field of spec that the older version of the definition in these tests lacks.
const newField = "replaceImmutable"

// The definition of HelmReleases over the life of an operator, in a cluster without one: the first install creates
// it, Helm leaves it unchanged in an upgrade, the new operator updates it to its version, and nothing removes it.
// HelmReleases stay throughout. The same for the least profile; and with crds.manage off, the operator has no right
// to write it, and does not need it.
func TestDefinitionIsInstalledUpgradedAndKept(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{ControllerManager: true})
	old := olderChart(t)
	e := &kit.Env{TB: t, Ctx: t.Context(), Cluster: c, Operator: "cattle-helm-system", Apps: "apps"}
	var err error
	e.Dynamic, err = dynamic.NewForConfig(c.RESTConfig())
	check.NoError(t, err)
	e.Kube, err = kubernetes.NewForConfig(c.RESTConfig())
	check.NoError(t, err)
	h := c.Helm3()
	helm := func(args ...string) {
		t.Helper()
		_, err := h.Run(t.Context(), append(args, "--namespace", e.Operator)...)
		check.NoError(t, err)
	}
	scoped := valuesFile(t, "{rbac: {profile: scoped}}", "")
	ports := valuesFile(t, freePorts(t), "")
	helm("install", "helm-locker", old, "--create-namespace", "--values", ports)
	check.Must(t, !hasNewField(e), "the older version has the new field")
	e.Namespace(e.Apps)
	e.Helm(h, "install", "example", exampleChart)
	before := e.HelmRelease("apps-example").UID

	helm("upgrade", "helm-locker", operatorChart, "--values", ports, "--values", scoped, "--set", "crds.manage=false")
	unmanaged := startDeployment(e, c, "helm-locker")
	unmanaged.stop()
	check.That(t, !hasNewField(e), "with crds.manage off the definition was updated")

	helm("upgrade", "helm-locker", operatorChart, "--values", ports, "--values", scoped)
	check.That(t, !hasNewField(e), "Helm updates definitions: the chart's story can be simpler")
	managed := startDeployment(e, c, "helm-locker")
	check.That(t, hasNewField(e), "the operator has not brought the definition to its version")
	helm("uninstall", "helm-locker")
	managed.stop()
	check.That(t, hasNewField(e), "the definition went with the operator")
	hr := e.HelmRelease("apps-example")
	check.That(t, hr.UID == before && hr.DeletionTimestamp == nil, "the HelmRelease did not outlive the operator")

	// And again, with existing objects.
	helm("install", "helm-locker", operatorChart, "--values", ports)
	startDeployment(e, c, "helm-locker")
	e.WaitReady("apps-example", 1)
}

// olderChart returns a copy of the operator's chart whose definition lacks a field.
func olderChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "helm-locker")
	check.NoError(t, os.CopyFS(dir, os.DirFS(operatorChart)))
	path := filepath.Join(dir, "crds", "helm.cattle.io_helmreleases.yaml")
	text, err := os.ReadFile(path)
	check.NoError(t, err)
	var definition map[string]any
	check.NoError(t, yaml.Unmarshal(text, &definition))
	fields := specFields(t, definition)
	check.Must(t, fields[newField] != nil, "spec has no field %s", newField)
	delete(fields, newField)
	text, err = yaml.Marshal(definition)
	check.NoError(t, err)
	check.NoError(t, os.WriteFile(path, text, 0o600))
	return dir
}

func hasNewField(e *kit.Env) bool {
	e.Helper()
	u, err := e.Dynamic.Resource(kit.Definitions).Get(e.Ctx, definitionName, metav1.GetOptions{})
	check.NoError(e, err)
	return specFields(e, u.Object)[newField] != nil
}

// specFields returns the fields of spec in the first version of a definition.
func specFields(t testing.TB, definition map[string]any) map[string]any {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	check.Must(t, err == nil && len(versions) > 0, "the definition has no versions: %v", err)
	// Not a copy: the caller may change it.
	at := definition["spec"].(map[string]any)["versions"].([]any)[0]
	for _, step := range strings.Split("schema.openAPIV3Schema.properties.spec.properties", ".") {
		at = at.(map[string]any)[step]
	}
	return at.(map[string]any)
}
