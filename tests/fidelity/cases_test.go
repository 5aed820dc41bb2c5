package fidelity

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// cases are the tests of the folders of testdata/cases: small charts, after public bug reports of other projects.
var cases = map[string]func(w *fixture, helm cluster.Helm){
	"07-refused-field":       refusedFields,
	"10-mutator":             mutator,
	"11-pull-secrets":        pullSecrets,
	"12-to-hook":             toHook,
	"13-copied-live":         copiedLive,
	"23-once":                once,
	"25-unions":              reverts("25-unions", v1alpha1.ScopeDeclared),
	"27-crossfield":          reverts("27-crossfield", v1alpha1.ScopeDeclared),
	"29-digest":              digest,
	"32-replaced-while-down": replacedWhileDown,
	"41-nulls":               upgrades("41-nulls", "deployment/web", "image"),
	"42-string-data":         upgrades("42-string-data", "secret/s", "v"),
}

// TestCases runs the test of each folder of testdata/cases with each Helm.
func TestCases(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join("testdata", "cases"))
	check.NoError(t, err)
	check.That(t, len(folders) == len(cases), "there are %d folders for %d tests", len(folders), len(cases))
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			t.Parallel()
			kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) { cases[folder.Name()](newFixture(t), helm) })
		})
	}
}

func casePath(name, file string) string { return filepath.Join("testdata", "cases", name, file) }

// installs installs the chart of a case as release app, and locks it.
func (w *fixture) installs(name string, helm cluster.Helm, change ...func(*v1alpha1.HelmRelease)) {
	w.Helper()
	w.Helm(helm, "install", "app", casePath(name, "chart"))
	w.Lock("app", change...)
}

// inCase returns a file of a case, with the namespace of the test in it.
func (w *fixture) inCase(name, file string) string {
	w.Helper()
	text, err := os.ReadFile(casePath(name, file))
	check.NoError(w, err)
	return strings.ReplaceAll(string(text), "NAMESPACE", w.Apps)
}

// policy applies a policy of a case, and waits until a field of its probe.yaml says that it is effective.
func (w *fixture) policy(name, file, field, want string) {
	w.Helper()
	w.kubectl(w.inCase(name, file), nil, "apply", "-f", "-")
	w.probe(name, field, func(got string) bool { return strings.Contains(got, want) })
}

// probe waits until a field of the probe.yaml of a case has a value on arrival.
func (w *fixture) probe(name, field string, is func(string) bool) {
	w.Helper()
	w.Until("the policy is effective", func() (any, bool) {
		got := w.Kubectl("apply", "--dry-run=server", "-f", casePath(name, "probe.yaml"),
			"-o", "jsonpath={.spec.template.spec.containers[*]."+field+"}")
		return got, is(got)
	})
}

// reverts returns a test that makes the drifts of a case one after the other. A line of drifts.tsv has an object, the
// type of a patch, the patch, and the result, as described at drifts.
func reverts(name string, scope v1alpha1.Scope) func(*fixture, cluster.Helm) {
	return func(w *fixture, helm cluster.Helm) {
		w.installs(name, helm, func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = scope })
		for line := range strings.Lines(w.inCase(name, "drifts.tsv")) {
			w.drifts(strings.Split(strings.TrimSpace(line), "\t"))
		}
		w.WaitReady("app", 1)
	}
}

// drifts makes one drift, and waits until it has the result of its last column: the object is as before ("restored"),
// as the drift makes it ("stays"), or as before but for one path ("restored but PATH"). The API server refuses a drift
// with the result "refused".
func (w *fixture) drifts(columns []string) {
	w.Helper()
	object, result := columns[0], columns[3]
	before := contentOf(w.kubectlGet(object))
	args := []string{"patch", object, "--type=" + columns[1], "-p", columns[2], "--field-manager=" + kit.Tamperer}
	_, err := w.TryKubectl(args...)
	if refused := err != nil; refused != (result == "refused") {
		w.Fatalf("%v: %v, want it to be %s", args, err, result)
	}
	if result == "stays" {
		return // the other drifts of the object revert nothing of it
	}
	_, added, _ := strings.Cut(result, " but ")
	w.Eventually(object+" is as before "+columns[2], func() error {
		now := contentOf(w.kubectlGet(object))
		if added != "" && !takeOut(now, strings.Split(added[1:], "/")) {
			return fmt.Errorf("%s is gone: %v", added, now)
		}
		return kit.Difference(before, now, "", nil)
	})
}

func (w *fixture) kubectlGet(object string) *unstructured.Unstructured {
	w.Helper()
	u := &unstructured.Unstructured{}
	check.NoError(w, u.UnmarshalJSON([]byte(w.Kubectl("get", object, "-o", "json", "--show-managed-fields"))))
	return u
}

// upgrades returns a test that applies the chart of a case by another manager with another value, which is reverted.
// The next upgrade by Helm succeeds without a flag.
func upgrades(name, object, value string) func(*fixture, cluster.Helm) {
	return func(w *fixture, helm cluster.Helm) {
		w.installs(name, helm)
		before := contentOf(w.kubectlGet(object))
		w.kubectl(w.Helm(helm, "template", "app", casePath(name, "chart"), "--set", value+"=evil"), nil,
			"apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", "-")
		w.Eventually("it is as before, and Helm's", func() error {
			now := w.kubectlGet(object)
			if err := sharedBy(now, "other"); err != nil && helm == kit.Shared.Helm4() {
				return err
			}
			return kit.Difference(before, contentOf(now), "", nil)
		})
		w.Helm(helm, "upgrade", "app", casePath(name, "chart"), "--set", value+"=two")
		w.WaitReady("app", 2)
		text := w.Kubectl("get", object, "-o", "yaml")
		if !strings.Contains(text, "two") && !strings.Contains(text, "dHdv") {
			w.Errorf("after the upgrade %s is %s", object, text)
		}
	}
}
