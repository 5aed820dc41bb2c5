package fidelity

import (
	"errors"
	"fmt"
	"io/fs"
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

// TestCases_Drifts makes the drifts of testdata/cases one after the other. A line of drifts.tsv has an object, the type
// of a patch, the patch, and the result, as described at drifts.
func TestCases_Drifts(t *testing.T) {
	for _, name := range []string{"10-mutator", "25-unions", "27-crossfield"} {
		t.Run(name, func(t *testing.T) {
			kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
				w := newFixture(t)
				scope := w.policy(name)
				w.Helm(helm, "install", "app", casePath(name, "chart"))
				w.Lock("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = scope })
				drifts, err := os.ReadFile(casePath(name, "drifts.tsv"))
				check.NoError(t, err)
				for line := range strings.Lines(strings.ReplaceAll(string(drifts), "NAMESPACE", w.Apps)) {
					columns := strings.Split(strings.TrimSpace(line), "\t")
					t.Run(columns[0], func(t *testing.T) { w.on(t).drifts(columns) })
				}
				w.WaitReady("app", 1)
			})
		})
	}
}

func casePath(name, file string) string { return filepath.Join("testdata", "cases", name, file) }

// policy applies the policy.yaml of a case that has one, and waits until it is effective. It returns the scope for the
// case: Strict if it has a policy.
func (w *fixture) policy(name string) v1alpha1.Scope {
	w.Helper()
	text, err := os.ReadFile(casePath(name, "policy.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return v1alpha1.ScopeDeclared
	}
	check.NoError(w, err)
	file := filepath.Join(w.TempDir(), "policy.yaml")
	check.NoError(w, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "NAMESPACE", w.Apps)), 0o600))
	w.Kubectl("apply", "-f", file)
	w.Until("the policy is effective", func() (any, bool) {
		names := w.Kubectl("apply", "--dry-run=server", "-f", casePath(name, "probe.yaml"),
			"-o", "jsonpath={.spec.template.spec.containers[*].name}")
		return names, names == "proxy probe"
	})
	return v1alpha1.ScopeStrict
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
		return kit.Difference(before, now, "", func(string, string) bool { return false })
	})
}

func (w *fixture) kubectlGet(object string) *unstructured.Unstructured {
	w.Helper()
	u := &unstructured.Unstructured{}
	check.NoError(w, u.UnmarshalJSON([]byte(w.Kubectl("get", object, "-o", "json"))))
	return u
}

const growable = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: growable}
provisioner: none.example
allowVolumeExpansion: true
`

// TestCases_AGrownClaim grows a bound claim, which nothing can shrink again, and then changes a label of it.
func TestCases_AGrownClaim(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		class := filepath.Join(t.TempDir(), "class.yaml")
		check.NoError(t, os.WriteFile(class, []byte(growable), 0o600))
		// On the server, because the subtests apply it at once.
		w.Kubectl("apply", "--server-side", "-f", class)
		w.Helm(helm, "install", "app", casePath("07-refused-field", "chart"))
		// No controller binds claims here.
		w.Kubectl("patch", "pvc", "disk", "--subresource=status", "--type=merge", "-p",
			`{"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}`)
		w.Lock("app")
		claims := resource("persistentvolumeclaims")
		w.Patch(claims, "disk", `{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`)
		w.Says("app", v1alpha1.ConditionLocked, v1alpha1.ReasonRevertFailed, "2 of 3 objects protected, 1 in part", "disk")
		w.Patch(claims, "disk", `{"metadata":{"labels":{"tier":"evil"}}}`)
		w.WaitField(claims, "disk", "metadata.labels.tier", "gold")
		w.WaitField(claims, "disk", "spec.resources.requests.storage", "3Gi")
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, "disk", "storage")
	})
}

// TestCases_CopiedLive locks objects that were exported from a cluster, with their metadata and status of then. Their
// controllers keep these, and nothing is written.
func TestCases_CopiedLive(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm3(), "install", "app", casePath("13-copied-live", "chart"))
	revision := func() any {
		return w.Get(kit.Deployments, "exported").GetAnnotations()["deployment.kubernetes.io/revision"]
	}
	w.Until("the controller has written the revision", func() (any, bool) { return revision(), revision() == "1" })
	w.Proxy.Reset()
	w.Lock("app")
	w.expectNoWrites("to objects as Helm left them")
	w.Patch(kit.Deployments, "exported", `{"spec":{"minReadySeconds":7,"replicas":1}}`)
	w.WaitField(kit.Deployments, "exported", "spec.replicas", int64(0))
	w.Patch(kit.ConfigMaps, "exported", `{"data":{"a":"evil"}}`)
	w.WaitField(kit.ConfigMaps, "exported", "data.a", "1")
	w.WaitReady("app", 1)
	if got := revision(); got != "1" {
		t.Errorf("the revision is %v", got)
	}
}
