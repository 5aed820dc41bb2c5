package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// releaseNamespace is where charts are rendered for when no cluster is asked.
const releaseNamespace = "lockers"

// valuesFile writes values for helm --values, with a namespace in place of NAMESPACE.
func valuesFile(t testing.TB, values, namespace string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	check.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(values, "NAMESPACE", namespace)), 0o600))
	return path
}

// render returns the output of helm template.
func render(t testing.TB, h cluster.Helm, chart, values, namespace string) (string, error) {
	t.Helper()
	return h.Run(t.Context(), "template", "locker", chart, "--namespace", namespace, "--kube-version", kubeVersion,
		"--values", valuesFile(t, values, namespace))
}

// Linting renders, too. The rendering of Helm 4 is checked here; the rendering of Helm 3, by the API server.
func TestChartsLint(t *testing.T) {
	needsHelm(t)
	for version, h := range kit.Helms(kit.Shared) {
		for _, c := range matrix {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				if _, err := h.Run(t.Context(), "lint", "--strict", "--quiet", "--kube-version", kubeVersion,
					"--namespace", releaseNamespace, c.chart,
					"--values", valuesFile(t, c.values, releaseNamespace)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestChartsRender(t *testing.T) {
	needsHelm(t)
	for _, c := range matrix {
		t.Run(c.name, func(t *testing.T) {
			text, err := render(t, kit.Shared.Helm4(), c.chart, c.values, releaseNamespace)
			check.NoError(t, err)
			var lines []string
			for _, line := range strings.Split(text, "\n") {
				lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "- "))
			}
			for _, name := range []string{"name: HTTP2_READ_IDLE_TIMEOUT_SECONDS", "name: HTTP2_PING_TIMEOUT_SECONDS"} {
				set, all := strings.Count(text, name+"\n"), strings.Count(text, "\nkind: Deployment\n")
				check.That(t, set == all, "%d of %d Deployments have %s", set, all, name)
			}
			for _, want := range c.has {
				check.That(t, slices.Contains(lines, strings.ReplaceAll(want, "NAMESPACE", releaseNamespace)),
					"it lacks %q in\n%s", want, text)
			}
			for _, unwanted := range c.lacks {
				check.That(t, !slices.Contains(lines, unwanted), "it has %q in\n%s", unwanted, text)
			}
		})
	}
}

func TestChartsRefuseWrongValues(t *testing.T) {
	needsHelm(t)
	for version, h := range kit.Helms(kit.Shared) {
		for _, c := range refused {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				text, err := render(t, h, c.chart, c.values, releaseNamespace)
				check.Must(t, err != nil, "rendered:\n%s", text)
				check.That(t, strings.Contains(err.Error(), c.says), "Helm does not say %q: %v", c.says, err)
			})
		}
	}
}

// The last output of helm install contains commands that name the installed objects.
func TestNotesSayTheNextCommand(t *testing.T) {
	needsHelm(t)
	for name, c := range map[string]struct{ values, says string }{
		"always":        {"{}", "kubectl --namespace lockers rollout status deployment/helm-locker"},
		"lock":          {"{}", "helm-locker lock podinfo --namespace apps --wait --helmrelease-namespace lockers"},
		"scoped":        {"{rbac: {profile: scoped}}", "helm-locker rbac apps/podinfo --output values > rbac.yaml"},
		"administrator": {"{}", "those of an administrator of the cluster, as far as the user who stored the release has them"},
		"any": {"{trust: {records: Any}}", "those of an administrator of the cluster. Every user who may write Secrets in the " +
			"namespace of a locked release decides"},
		"acceptance": {"{rbac: {profile: scoped}, trust: {records: Any}}", "or accepts that by acceptRecordsOfAnyone"},
		"impersonate": {"{rbac: {profile: impersonate}, impersonation: {defaultServiceAccount: hand}}",
			"--serviceaccount apps:hand"},
		"crds": {"{crds: {manage: false}}", "kubectl apply --server-side -f CHART/crds"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := kit.Shared.Helm3().Run(t.Context(), "install", "locker", operatorChart, "--dry-run=client",
				"--namespace", "lockers", "--values", valuesFile(t, c.values, ""))
			check.NoError(t, err)
			_, notes, found := strings.Cut(out, "NOTES:")
			check.That(t, found && strings.Contains(notes, c.says), "the notes do not say %q:\n%s", c.says, notes)
		})
	}
}

// The chart's copies of the CustomResourceDefinitions equal those of the operator.
func TestCRDsOfTheChartAreThoseOfTheOperator(t *testing.T) {
	own, err := filepath.Glob("../../crds/*.yaml")
	check.NoError(t, err)
	copies, err := filepath.Glob(operatorChart + "/crds/*.yaml")
	check.NoError(t, err)
	check.Must(t, len(own) > 0 && len(own) == len(copies), "crds has %v, the chart %v: run make generate", own, copies)
	for i := range own {
		a, err := os.ReadFile(own[i])
		check.NoError(t, err)
		b, err := os.ReadFile(copies[i])
		check.NoError(t, err)
		check.Equal(t, string(a), string(b), "%s is not %s: run make generate", copies[i], own[i])
	}
}

func needsHelm(t *testing.T) {
	t.Helper()
	if kit.Shared == nil {
		t.Skip("needs Helm, which comes with the control plane")
	}
}
