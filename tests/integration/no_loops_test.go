package integration

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// normalised are objects that the API server returns in another form than the applied one.
const normalised = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  progressDeadlineSeconds: null
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: null}
    spec:
      hostNetwork: false
      nodeSelector: {}
      containers:
      - name: web
        image: example.com/web:1
        args: []
        resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.5, memory: "134217728"}}
        env: [{name: EMPTY, value: ""}, {name: NONE}]
        ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]
---
apiVersion: v1
kind: Secret
metadata: {name: credentials}
stringData: {password: swordfish}
data: {token: c3dvcmRmaXNo}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {empty: ""}, annotations: {}}
data: {key: declared, empty: ""}
---
apiVersion: v1
kind: Service
metadata: {name: web, creationTimestamp: null}
spec: {selector: {app: web}, type: ClusterIP, sessionAffinity: None, ports: [{port: 80, targetPort: 80, protocol: TCP, name: ""}]}
status: {loadBalancer: {}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: other}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}, {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1000m}}}]
`

// At rest nothing is written, although the API server returns much of it in another form; and all of it is protected.
func TestI6_NormalisedValuesAreNotFought(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		gvr := schema.GroupVersionResource{Group: w.Apps + ".example.com", Version: "v1", Resource: "widgets"}
		w.define(widgetDefinition(gvr.Group))
		w.awaitServed(gvr, true)
		unknown := ""
		if helm.Name == "helm 3" { // Helm 4 does not let a field pass that the definition does not have
			unknown = ", pruned: {not: known}, none: null"
		}
		custom := fmt.Sprintf(
			"---\napiVersion: %s/v1\nkind: Widget\nmetadata: {name: widget}\nspec: {size: 1, quantity: 1000m%s}\n",
			gvr.Group, unknown,
		)
		w.Helm(helm, "install", "app", w.Chart("app", normalised+custom))
		w.Proxy.Reset()
		w.Lock("app")
		w.ExpectNoWrites()
		w.WaitReason("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonNoDrift)
		w.WaitEvent("app", v1alpha1.EventReasonLocked)
		// The controllers of the control plane are done.
		w.WaitField(kit.Deployments, "web", "status.unavailableReplicas", int64(1))
		w.Quiet(w.Proxy, 10*time.Second)

		container := "spec.template.spec.containers"
		locked := kit.Field(w.Get(kit.Deployments, "web"), container)
		w.Patch(kit.Deployments, "web",
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/web:1","resources":{"limits":{"cpu":"1001m"}}}]}}}}`)
		w.WaitField(kit.Deployments, "web", container, locked)
		w.Patch(kit.Secrets, "credentials", `{"stringData":{"password":"haddock","token":"haddock"}}`)
		w.WaitField(kit.Secrets, "credentials", "data", map[string]any{"password": "c3dvcmRmaXNo", "token": "c3dvcmRmaXNo"})
		w.Patch(kit.ConfigMaps, "settings", `{"data":{"empty":"no more"},"metadata":{"labels":{"empty":"no-more"}}}`)
		w.WaitField(kit.ConfigMaps, "settings", "data", map[string]any{"key": "declared", "empty": ""})
		w.WaitField(kit.ConfigMaps, "settings", "metadata.labels.empty", "")
		w.Patch(gvr, "widget", `{"spec":{"size":7,"quantity":"2"}}`)
		w.WaitField(gvr, "widget", "spec.size", int64(1))
		w.WaitField(gvr, "widget", "spec.quantity", "1000m")

		// The canonical form of the declared values stays recorded when another field changes.
		w.Proxy.Reset()
		for gvr, name := range map[schema.GroupVersionResource]string{
			kit.Deployments: "web", kit.Secrets: "credentials", kit.ConfigMaps: "settings", kit.Services: "web",
			gvr: "widget",
		} {
			w.Patch(gvr, name, `{"metadata":{"annotations":{"example.com/note":"hello"}}}`)
		}
		w.PassFence()
		w.ExpectNoWrites()
	})
}

// widgetDefinition returns a CustomResourceDefinition that prunes unknown fields.
func widgetDefinition(group string) *unstructured.Unstructured {
	properties := map[string]any{"size": map[string]any{"type": "integer"},
		"quantity": map[string]any{"x-kubernetes-int-or-string": true}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": properties}},
				}}}},
		},
	}}
}

// How long a fight stays known after its end is left to the tests of pkg/lock: it takes a minute.
func TestI6_FightIsNamedAndSlowedDown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("app", kit.ConfigMap("contested", "declared")+kit.ConfigMap("calm", "declared"))

	begun := time.Now()
	stop := w.fight()
	w.Says("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected, "ConfigMap", w.Apps+
		"/contested", "fighter", "/data/key")
	hr := w.HelmRelease("app")
	check.That(t, hr.Status.Objects.Contended == 1, "objects are %+v", hr.Status.Objects)
	reverts := func() (n int) {
		for _, r := range kit.ObjectWrites(w.Proxy) {
			if r.Method == http.MethodPatch && r.Path == "/api/v1/namespaces/"+w.Apps+"/configmaps/contested" {
				n++
			}
		}
		return n
	}
	// 20 are allowed at once, and one more each second: on a busy machine these last for a while.
	const atOnce = 20
	w.Until("reverts are paced", func() (any, bool) {
		n := reverts()
		return n, n > atOnce+1 && float64(n) >= atOnce-1+time.Since(begun).Seconds()
	})
	w.Proxy.Reset()
	started := time.Now()
	const rounds = 8
	waited := 0
	for range rounds {
		w.PassFence()
		before := reverts()
		w.Patch(kit.ConfigMaps, "calm", fmt.Sprintf(`{"data":{"key":"tampered %s"}}`, time.Now()))
		w.WaitField(kit.ConfigMaps, "calm", "data.key", "declared")
		if reverts() > before {
			waited++
		}
	}
	took := time.Since(started)
	writes := reverts()
	t.Logf("%d reverts of the contested object in %s", writes, took.Round(time.Millisecond))
	least := time.Duration(writes-2) * time.Second
	check.That(t, took >= least, "%d reverts within %s", writes, took)
	// Others do not wait for it: if they did, there were a revert of it for each of theirs.
	check.That(t, waited != rounds, "a revert of the contested object beside each of %d of another one", rounds)
	stop()
	w.WaitField(kit.ConfigMaps, "contested", "data.key", "declared")
}
