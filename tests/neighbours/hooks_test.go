package neighbours

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// hooked is a chart whose hooks are Pods, before and after Helm's own work, and in `helm test`.
const hooked = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: "{{ .Values.key }}", filled: ""}
{{- range $hook := list "pre-upgrade" "post-upgrade" "test" }}
---
apiVersion: v1
kind: Pod
metadata: {name: {{ $hook }}, annotations: {helm.sh/hook: {{ $hook }}, helm.sh/hook-delete-policy: before-hook-creation}}
spec: {restartPolicy: Never, containers: [{name: hook, image: "example.com/hook:1"}]}
{{- end }}
`

// Hooks of a chart write to an object of its release. The operator does not interfere while Helm works. Afterwards it
// judges the result as usual: a declared field is restored, an ignored or undeclared one stays. A hook of `helm test`
// runs while the release is deployed, and is a user like any other.
//
// Helm and its hooks are real; without a node for the Pods, the test writes in their place and reports their end.
func TestNeighbour_HooksWriteToTheRelease(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		chart := w.Chart("app", hooked)
		w.Helm(h, "install", "app", chart, "--set", "key=one")
		w.Lock("app", func(hr *v1alpha1.HelmRelease) {
			hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/data/filled"}}}
		})
		w.Proxy.Reset()
		upgrade := []string{"upgrade", "app", chart, "--set", "key=two", "--namespace", w.Apps}
		if h.Name == helm4 {
			upgrade = append(upgrade, "--force-conflicts") // the hook before it owns what it wrote
		}
		upgraded := w.start(h, upgrade...)
		w.hook("pre-upgrade", `{"data":{"key":"hook","added":"before"}}`)
		w.hook("post-upgrade", `{"data":{"key":"hook","filled":"by the hook","added":"after"}}`)
		check.NoError(t, <-upgraded)
		w.becomes(kit.ConfigMaps, "settings", "/data",
			map[string]any{"key": "two", "filled": "by the hook", "added": "after"})
		w.WaitReady("app", 2)
		n := w.writes("settings")
		check.That(t, n == 1, "%d writes for one field of one hook", n)

		tested := w.start(h, "test", "app", "--namespace", w.Apps)
		w.waitHook("test")
		w.as("hook", kit.ConfigMaps, "settings", types.MergePatchType, `{"data":{"key":"hook"}}`)
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "two")
		w.succeed("test")
		check.NoError(t, <-tested)
		w.WaitReady("app", 2)
	})
}

// start runs a Helm command beside the test and sends how it ended.
func (w *fixture) start(h cluster.Helm, args ...string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := h.Run(w.Ctx, args...)
		done <- err
	}()
	return done
}

// hook waits until Helm has created the Pod of a hook, changes settings in its place, fails the test if the operator
// reverts that before the hook ends, and ends it.
func (w *fixture) hook(name, patch string) {
	w.Helper()
	w.waitHook(name)
	w.as("hook", kit.ConfigMaps, "settings", types.MergePatchType, patch)
	w.PassFence()
	w.ExpectNoWrites()
	w.ExpectKey("settings", "hook")
	w.succeed(name)
}

// waitHook waits until the Pod of a hook exists.
func (w *fixture) waitHook(name string) {
	w.Helper()
	w.Eventually("the hook "+name+" runs", func() error {
		_, err := w.Kube.CoreV1().Pods(w.Apps).Get(w.Ctx, name, metav1.GetOptions{})
		return err
	})
}

// succeed reports the success of a hook's Pod.
func (w *fixture) succeed(name string) {
	w.Helper()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	w.PatchAs("kubelet", pods, name, `{"status":{"phase":"Succeeded"}}`, "status")
}
