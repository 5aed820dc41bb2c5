package neighbours

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// workload is the target of the controllers' writes. The value note is for an upgrade that changes every object.
const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {part: declared}, annotations: {note: "{{ .Values.note }}"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {declared: "yes"}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        env: [{name: DECLARED, value: "yes"}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {part: declared}, annotations: {note: "{{ .Values.note }}"}}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

// installed installs workload and locks it with a spec.
func (w *fixture) installed(h cluster.Helm, change ...func(*v1alpha1.HelmRelease)) (chart string) {
	w.Helper()
	chart = w.Chart("app", workload)
	w.Helm(h, "install", "app", chart, "--set", "note=first")
	w.Lock("app", change...)
	return chart
}

// respec changes the spec of the HelmRelease app by a JSON merge patch, and waits until that is in force.
func (w *fixture) respec(patch string) {
	w.Helper()
	w.PatchHelmRelease("app", `{"spec":`+patch+`}`)
	w.WaitObserved("app")
	w.WaitReady("app", 0)
}

const requests = "/spec/template/spec/containers/0/resources/requests/cpu"

// A controller with its own resources for a workload is a user like any other, until an ignore rule exempts them. The
// Vertical Pod Autoscaler of Kubernetes itself writes to Pods only, and no release declares these (tests/real).
//
// The stand-in is one patch, as rightsizing tools make it.
func TestNeighbour_VerticalAutoscaler(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.installed(h)
		resize := func() {
			w.as("rightsizer", kit.Deployments, "web", types.StrategicMergePatchType, `{"spec":{"template":{"spec":
				{"containers":[{"name":"web","resources":{"requests":{"cpu":"250m"}}}]}}}}`)
		}
		resize()
		w.becomes(kit.Deployments, "web", requests, "100m")
		w.respec(`{"ignore":[{"paths":["/spec/template/spec/containers/*/resources"],"target":{"kind":"Deployment"}}]}`)
		w.keeps(kit.Deployments, "web", requests, "250m", resize)
		w.respec(`{"scope":"Strict","ignore":[{"managers":["rightsizer"]}]}`)
		w.keeps(kit.Deployments, "web", requests, "250m", resize)
	})
}

// Reloader restarts a workload when a ConfigMap or Secret that it uses changes: by a variable, or by an annotation,
// in the Pod template. Both are additions.
//
// The stand-in makes these changes by an update of the whole Deployment under Reloader's name.
func TestNeighbour_Reloader(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		chart := w.installed(h)
		const annotation = "/spec/template/metadata/annotations/reloader.stakater.com~1last-reloaded-from"
		const variable = "/spec/template/spec/containers/0/env/1/name"
		bump := func() { w.reload("first") }
		w.keeps(kit.Deployments, "web", annotation, "first", bump)
		w.keeps(kit.Deployments, "web", variable, "STAKATER_SETTINGS_CONFIGMAP", bump)
		w.respec(`{"scope":"Strict"}`)
		w.becomes(kit.Deployments, "web", annotation, nil)
		w.becomes(kit.Deployments, "web", variable, nil)
		w.respec(`{"ignore":[{"managers":["Reloader"]}]}`)
		w.keeps(kit.Deployments, "web", annotation, "second", func() { w.reload("second") })
		w.Helm(h, "upgrade", "app", chart, "--set", "note=second")
		w.WaitReady("app", 2)
	})
}

// reload updates the Deployment web as Reloader does, by both of its strategies.
func (w *fixture) reload(value string) {
	w.Helper()
	w.Eventually("Reloader has updated the Deployment", func() error {
		client := w.Kube.AppsV1().Deployments(w.Apps)
		web, err := client.Get(w.Ctx, "web", metav1.GetOptions{})
		check.NoError(w, err)
		template := &web.Spec.Template
		template.Annotations["reloader.stakater.com/last-reloaded-from"] = value
		container := &template.Spec.Containers[0]
		container.Env = reloaded(container.Env, value)
		_, err = client.Update(w.Ctx, web, metav1.UpdateOptions{FieldManager: "Reloader"})
		return err
	})
}

const selector = "/spec/selector/rollouts-pod-template-hash"

// Argo Rollouts adds a key to the selector of its Services. It stays, until a user changes a declared key: a selector
// is atomic for the API server, and is reverted as a whole. Then the controller has to add its key again, unless a
// rule ignores the selector.
//
// The stand-in is the patch of the controller's service reconciler under its name.
func TestNeighbour_ArgoRollouts(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		chart := w.installed(h)
		sw := func() {
			w.as("rollouts-controller", kit.Services, "web", types.MergePatchType,
				`{"spec":{"selector":{"rollouts-pod-template-hash":"86666d6ffc"}}}`)
		}
		w.keeps(kit.Services, "web", selector, "86666d6ffc", sw)
		w.Patch(kit.Services, "web", `{"spec":{"selector":{"app":"tampered"}}}`)
		w.becomes(kit.Services, "web", "/spec/selector", map[string]any{"app": "web"})
		w.respec(`{"scope":"Strict"}`)
		sw()
		w.becomes(kit.Services, "web", "/spec/selector", map[string]any{"app": "web"})
		w.respec(`{"ignore":[{"paths":["/spec/selector"],"target":{"kind":"Service"}}]}`)
		w.keeps(kit.Services, "web", selector, "86666d6ffc", sw)
		upgrade := []string{"upgrade", "app", chart, "--set", "note=second"}
		if h.Name == helm4 {
			w.fails(h, upgrade...) // a conflict over the selector, locked or not
			upgrade = append(upgrade, "--force-conflicts")
		}
		w.Helm(h, upgrade...)
		w.WaitReady("app", 0)
	})
}

const injected = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: "{{ .Release.Namespace }}", labels: {part: declared}, annotations: {note: "{{ .Values.note }}"}}
webhooks:
- name: one.example.com
  clientConfig: {service: {name: web, namespace: "{{ .Release.Namespace }}"}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
`

// cert-manager's cainjector puts a CA bundle into webhook configurations of the release, by an update, or by a
// server-side apply (with its feature gate ServerSideApply). It stays in both scopes, and the next upgrade succeeds.
// (For APIServices, conversion webhooks and a caBundle that is declared empty see
// TestCoexistence_WhatControllersFillIn.)
//
// The stand-in is both of these writes under the injector's name.
func TestNeighbour_CAInjector(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		chart := w.Chart("app", injected)
		w.Helm(h, "install", "app", chart, "--set", "note=first")
		w.Lock("app")
		everywhere := *w
		everywhere.Fixture = w.On(t)
		everywhere.Apps = "" // cluster-scoped
		for i, scope := range []v1alpha1.Scope{v1alpha1.ScopeDeclared, v1alpha1.ScopeStrict} {
			w.respec(fmt.Sprintf(`{"scope":%q}`, scope))
			for kind, patch := range map[types.PatchType]string{
				types.JSONPatchType: `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"%s"}]`,
				types.ApplyPatchType: `{"apiVersion":"admissionregistration.k8s.io/v1",
					"kind":"ValidatingWebhookConfiguration","metadata":{"name":"` + w.Apps + `"},
					"webhooks":[{"name":"one.example.com","clientConfig":{"caBundle":"%s"}}]}`,
			} {
				bundle := bundle()
				everywhere.keeps(validators, w.Apps, "/webhooks/0/clientConfig/caBundle", bundle, func() {
					everywhere.as("cert-manager-cainjector", validators, w.Apps, kind, fmt.Sprintf(patch, bundle))
				})
			}
			w.Helm(h, "upgrade", "app", chart, "--set", fmt.Sprintf("note=%d", i))
			w.WaitReady("app", i+2)
		}
	})
}

// A webhook that rewrites images is installed after the lock, so that its result differs from the operator's recorded
// canonical form. It acts at the next write of the Deployment, by any writer: after one revert, the operator records
// the result as the form of the declared image, and does not fight. A user's image is reverted to it. (For a webhook
// that existed before see TestI6_WhatAWebhookMakesOfItIsNotFought.)
//
// The webhook is a real one with the behaviour of an image policy.
func TestNeighbour_ImageWebhookThatComesLater(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		chart := w.installed(h)
		w.Webhook(rewriteImage)
		w.Proxy.Reset()
		w.Patch(kit.Deployments, "web", `{"metadata":{"annotations":{"mine":"added"}}}`)
		w.becomes(kit.Deployments, "web", image, "registry.local/example.com/web:1")
		w.revertsLabel(kit.Deployments, "web")
		n := w.writes("web")
		check.That(t, n <= 4, "%d writes for a new webhook and one change", n)
		w.as("user", kit.Deployments, "web", types.StrategicMergePatchType,
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/evil:1"}]}}}}`)
		w.becomes(kit.Deployments, "web", image, "registry.local/example.com/web:1")
		w.WaitReason("app", v1alpha1.ConditionContended, v1alpha1.ReasonNoContention)
		w.Helm(h, "upgrade", "app", chart, "--set", "note=second")
		w.WaitReady("app", 2)
		w.becomes(kit.Deployments, "web", image, "registry.local/example.com/web:1")
	})
}

// Another controller applies one declared field on the server's side, by force, again whenever it is changed. It is
// named, its object waits longer and longer, and others go on. With a rule it has the field.
//
// The applier is a real one: a watch and a forced apply.
func TestNeighbour_ApplierThatFights(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		w := newFixture(t)
		w.Installed(h, "app", kit.ConfigMap("contested", "declared")+kit.ConfigMap("calm", "declared"))
		done := w.insist("contested")
		w.Says("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected, w.Apps+"/contested", "applier", "/data/key")
		w.Reverts("calm", "declared")
		w.respec(`{"ignore":[{"paths":["/data/key"],"managers":["applier"]}]}`)
		w.WaitField(kit.ConfigMaps, "contested", "data.key", "mine")
		w.PassFence()
		w.ExpectKey("contested", "mine")
		w.Reverts("calm", "declared")
		check.Report(t, done())
	})
}
