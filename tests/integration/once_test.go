package integration

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// runOnce are Pods without a restart after their end, and one with restarts.
var runOnce = kindOfPod("succeeded", "Never") + kindOfPod("failed", "OnFailure") + kindOfPod("running", "Never") +
	kindOfPod("agent", "Always")

func kindOfPod(name, restart string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {restartPolicy: %s, automountServiceAccountToken: false, containers: [{name: c, image: "registry.example/c:1"}]}
`, name, restart)
}

// remove deletes objects at once, as a garbage collector does.
func (w *fixture) remove(gvr schema.GroupVersionResource, names ...string) {
	w.Helper()
	for _, name := range names {
		now := int64(0)
		check.NoError(w, w.In(gvr, w.Apps).Delete(w.Ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
}

func TestKinds_EndedPodDoesNotRunAgain(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", runOnce)
		for name, phase := range map[string]string{"succeeded": "Succeeded", "failed": "Failed", "running": "Running"} {
			w.PatchAs(kit.Tamperer, pods, name, `{"status":{"phase":"`+phase+`"}}`, "status")
		}
		running, agent := w.Get(pods, "running").GetUID(), w.Get(pods, "agent").GetUID()
		w.remove(pods, "succeeded", "failed", "running", "agent")
		w.WaitNewObject(pods, "running", running)
		w.WaitNewObject(pods, "agent", agent)
		w.PassFence()
		w.exceptions("app", "RunsOnce Pod/failed ", "RunsOnce Pod/succeeded ")
		n := w.HelmRelease("app").Status.Objects.Drifted
		check.That(t, n == 0, "%d objects are drifted", n)
		for _, name := range []string{"succeeded", "failed"} {
			check.That(t, w.Get(pods, name) == nil, "Pod %s runs again", name)
		}
	})
}

// A rule leaves the deletion of objects to others. The content of the objects stays protected.
func TestIgnore_DeletionIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", kit.ConfigMap("once", "declared")+kit.ConfigMap("other", "declared"), func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{
			Deletion: true, Target: &v1alpha1.IgnoreTarget{Kind: "ConfigMap", Name: "once"},
		}}
	})
	w.Patch(kit.ConfigMaps, "once", `{"data":{"key":"evil"}}`)
	w.WaitField(kit.ConfigMaps, "once", "data.key", "declared")
	w.Patch(kit.ConfigMaps, "once", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
	w.Eventually("the label is back", func() error {
		if got := w.Get(kit.ConfigMaps, "once").GetLabels()["app.kubernetes.io/managed-by"]; got != "Helm" {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
	other := w.Get(kit.ConfigMaps, "other").GetUID()
	w.remove(kit.ConfigMaps, "once", "other")
	w.WaitNewObject(kit.ConfigMaps, "other", other)
	w.PassFence()
	check.That(t, w.Get(kit.ConfigMaps, "once") == nil, "an object is created again whose deletion is left alone")
	w.Eventually("the object is an exception", func() error {
		hr := w.HelmRelease("app")
		for _, e := range hr.Status.Exceptions {
			if e.Reason == v1alpha1.ExceptionRunsOnce && e.Object.Name == "once" && hr.Status.Objects.Drifted == 0 {
				return nil
			}
		}
		return fmt.Errorf("objects are %+v, exceptions %+v", hr.Status.Objects, hr.Status.Exceptions)
	})
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}
