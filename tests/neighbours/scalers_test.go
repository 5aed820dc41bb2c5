package neighbours

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	rollouts      = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}
	autoscalers   = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {part: declared}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "example.com/web:1"}]}}
`

const scaledObject = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec: {scaleTargetRef: {name: web}, minReplicaCount: 1, maxReplicaCount: 5}
`

const rollout = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec: {replicas: 3, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web, scaleDown: onsuccess}}
`

// defined installs the definition of a kind for the whole suite, and waits until it is served. It keeps all fields.
func (w *fixture) defined(gvr schema.GroupVersionResource, kind string) {
	w.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	_, err := w.In(kit.Definitions, "").Create(w.Ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": gvr.GroupResource().String()},
		"spec": map[string]any{
			"group": gvr.Group, "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": gvr.Resource},
			"versions": []any{map[string]any{"name": gvr.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": open}}},
		},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
	w.Eventually(kind+" is served", func() error {
		_, err := w.In(gvr, w.Apps).List(w.Ctx, metav1.ListOptions{})
		return err
	})
}

// scale sets the number of replicas of the Deployment web by its subresource, as controllers do.
func (w *fixture) scale(manager string, replicas int) {
	w.Helper()
	w.PatchAs(manager, kit.Deployments, "web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas), "scale")
}

// staysScaled fails the test unless the number of replicas stays after the Deployment web is scaled, also while its
// label is reverted.
func (w *fixture) staysScaled(manager string, replicas int) {
	w.Helper()
	w.keeps(kit.Deployments, "web", "/spec/replicas", int64(replicas), func() { w.scale(manager, replicas) })
}

// goesBack fails the test unless the number of replicas becomes want after the Deployment web is scaled.
func (w *fixture) goesBack(replicas int, want int64) {
	w.Helper()
	w.scale("user", replicas)
	w.becomes(kit.Deployments, "web", "/spec/replicas", want)
}

// exempts waits until the status of the HelmRelease app lists one exempt replica count.
func (w *fixture) exempts(message string) {
	w.Helper()
	w.Until("the exception "+message, func() (any, bool) {
		all := w.HelmRelease("app").Status.Exceptions
		return all, len(all) == 1 && all[0].Reason == v1alpha1.ExceptionAutoscaled && all[0].Message == message
	})
}

// says waits until an event about the HelmRelease app has a text.
func (w *fixture) says(reason, text string) {
	w.Helper()
	w.Eventually("the event "+text, func() error {
		list, err := w.Kube.CoreV1().Events(w.Operator).List(w.Ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.name=app,reason=" + reason})
		if err != nil {
			return err
		}
		var texts []string
		for _, e := range list.Items {
			texts = append(texts, e.Message)
		}
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, text) }) {
			return fmt.Errorf("events %q", texts)
		}
		return nil
	})
}

// KEDA scales the workload to zero and has an autoscaler for the rest, which it deletes when the ScaledObject is
// paused. The replica counts are KEDA's while the ScaledObject exists, and no longer.
//
// The stand-in makes the writes of KEDA 2.20 under its names: scaling by the subresource, and the deletion.
func TestNeighbour_KEDA(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.defined(scaledObjects, "ScaledObject")
		w.Installed(h, "app", web)
		w.Create(scaledObjects, w.Apps, scaledObject)
		w.Create(autoscalers, w.Apps, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler,
metadata: {name: keda-hpa-web},
spec: {minReplicas: 1, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`)
		w.exempts(fmt.Sprintf("ScaledObject.keda.sh %s/web sets 1 to 5 replicas", w.Apps))
		w.says(v1alpha1.EventReasonAutoscaled, w.Apps+"/web sets 1 to 5 replicas")
		w.staysScaled("keda-operator", 5)
		w.goesBack(9, 5)

		w.Patch(scaledObjects, "web", `{"metadata":{"annotations":{"autoscaling.keda.sh/paused":"true"}}}`)
		w.Delete(autoscalers, "keda-hpa-web")
		w.staysScaled("keda-operator", 1)
		w.Patch(scaledObjects, "web", `{"metadata":{"annotations":{"autoscaling.keda.sh/paused-replicas":"0"}}}`)
		w.staysScaled("keda-operator", 0)
		w.exempts(fmt.Sprintf("ScaledObject.keda.sh %s/web sets 1 to 5 replicas, and is paused at 0", w.Apps))

		w.Delete(scaledObjects, "web")
		w.becomes(kit.Deployments, "web", "/spec/replicas", int64(3))
	})
}

// The range of a ScaledObject of the release is the one in its manifest, and so is its count when paused.
func TestNeighbour_KEDAInTheChart(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.defined(scaledObjects, "ScaledObject")
		check.NoError(t, w.Cluster.Except("I1-value", w.Apps, "a ScaledObject sets the replicas"))
		w.Installed(h, "app", web+"---"+scaledObject)
		w.exempts(fmt.Sprintf("ScaledObject.keda.sh %s/web sets 1 to 5 replicas", w.Apps))
		w.staysScaled("keda-operator", 5)
		w.goesBack(9, 5)
		w.Patch(scaledObjects, "web", `{"metadata":{"annotations":{"autoscaling.keda.sh/paused-replicas":"0"}}}`)
		w.staysScaled("keda-operator", 0)
		w.says(v1alpha1.EventReasonAutoscaled, "and is paused at 0")
	})
}

// A workload that KEDA keeps at zero during the operator's start stays so. The same holds for a workload whose
// ScaledObject the watch has not delivered yet.
func TestHostile_ScaledObjectIsDeliveredLate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.defined(scaledObjects, "ScaledObject")
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", web))
	w.Create(scaledObjects, w.Apps, strings.Replace(scaledObject, "minReplicaCount: 1", "minReplicaCount: 0", 1))
	w.scale("keda-operator", 0)
	history := w.Record(kit.Deployments)
	release := w.Proxy.HoldWatch(cluster.ForResource("scaledobjects"))
	defer release()
	w.Lock("app")
	w.Running.Stop()
	w.Running = kit.StartOperator(t, w.Proxy.RESTConfig(), w.Operator)
	w.revertsLabel(kit.Deployments, "web")
	history.CatchUp()
	for _, u := range history.States(kit.Deployments, "web") {
		n := at(u, "/spec/replicas")
		check.That(t, n == int64(0), "it had %v replicas", n)
	}
}

// Argo Rollouts scales down the workload whose Pods it takes over. The operator does not restore the count where the
// manifest of a locked release has the Rollout.
//
// The stand-in is the write of Argo Rollouts 1.9 to the workload, under its name.
func TestNeighbour_ArgoRolloutsTakesOver(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.defined(rollouts, "Rollout")
		w.Installed(h, "app", web+"---"+rollout)
		w.exempts(fmt.Sprintf("Rollout.argoproj.io %s/web sets the number of replicas", w.Apps))
		w.staysScaled("rollouts-controller", 0)
		w.staysScaled("rollouts-controller", 9)
	})
}

// A Rollout of another locked release counts, too. An undeclared one does not, unless a rule names it: any user who
// may create a Rollout would own the replica count.
func TestI8_RolloutThatNoManifestDeclares(t *testing.T) {
	t.Parallel()
	for name, allow := range map[string]func(w *fixture){
		"until a locked release declares it": func(w *fixture) {
			w.Delete(rollouts, "web")
			w.Installed(kit.Shared.Helm3(), "other", rollout)
		},
		"until a rule names it": func(w *fixture) {
			w.respec(`{"ignore":[{"paths":["/spec"],"target":{"kind":"Rollout","name":"web"}}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.defined(rollouts, "Rollout")
			w.Installed(kit.Shared.Helm3(), "app", web)
			w.Create(rollouts, w.Apps, rollout)
			w.goesBack(0, 3)
			allow(w)
			w.exempts(fmt.Sprintf("Rollout.argoproj.io %s/web sets the number of replicas", w.Apps))
			w.says(v1alpha1.EventReasonAutoscaled, "sets the number of replicas")
			w.staysScaled("rollouts-controller", 0)
		})
	}
}
