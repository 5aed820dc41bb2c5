package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}
	validators  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingwebhookconfigurations"}
)

// webImage is the path of the image of the Deployment web.
const webImage = "spec.template.spec.containers.0.image"

const scaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "example.com/web:1"}]}}
`

// autoscaler returns a HorizontalPodAutoscaler for the Deployment web, as kubectl autoscale or KEDA makes one.
func autoscaler(name string, least, most int64, owner string) map[string]any {
	metadata := map[string]any{"name": name}
	if owner != "" {
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "keda.sh/v1alpha1", "kind": owner,
			"name": "web", "uid": "11111111-2222-3333-4444-555555555555"}}
	}
	return map[string]any{"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": metadata,
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			"minReplicas":    least, "maxReplicas": most}}
}

// exceptions waits until the status of a HelmRelease lists exactly these exceptions, as "Reason Kind/name paths".
func (w *fixture) exceptions(name string, want ...string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("the exceptions are %v", want), func() error {
		var got []string
		for _, e := range w.HelmRelease(name).Status.Exceptions {
			got = append(got, fmt.Sprintf("%s %s/%s %s", e.Reason, e.Object.Kind, e.Object.Name, strings.Join(e.Paths, ",")))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
}

// An autoscaler outside the release sets the replicas within its range, from its creation to its deletion.
func TestCoexistence_ForeignAutoscaler(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", scaled)
		w.scale("web", 4)
		w.WaitField(kit.Deployments, "web", "spec.replicas", int64(2))

		w.create(autoscalers, autoscaler("web", 1, 5, ""))
		w.exceptions("app", "Autoscaled Deployment/web /spec/replicas")
		w.scale("web", 4)
		w.staysScaled(4)
		w.Patch(kit.Deployments, "web",
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/tampered:1"}]}}}}`)
		w.WaitField(kit.Deployments, "web", webImage, "example.com/web:1")
		n := kit.Field(w.Get(kit.Deployments, "web"), "spec.replicas")
		check.That(t, n == int64(4), "the revert of the image made it %v replicas", n)
	})
}

// KEDA scales between nought and one by itself and has an autoscaler for the rest; both are within its range.
func TestCoexistence_KEDA(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", scaled)
	w.create(autoscalers, autoscaler("keda-hpa-web", 1, 3, "ScaledObject"))
	w.exceptions("app", "Autoscaled Deployment/web /spec/replicas")
	w.scale("web", 0)
	w.staysScaled(0)
	w.scale("web", 9)
	w.Until("the number is back in the range: the operator restores the last one, unless the autoscaler is quicker", func() (any, bool) {
		n, ok := kit.Field(w.Get(kit.Deployments, "web"), "spec.replicas").(int64)
		return n, ok && (n == 0 || n == 3)
	})
	w.scale("web", 3)
	w.staysScaled(3)
	check.NoError(t, w.In(autoscalers, w.Apps).Delete(w.Ctx, "keda-hpa-web", metav1.DeleteOptions{}))
	w.WaitField(kit.Deployments, "web", "spec.replicas", int64(2))
	w.exceptions("app")
}

// An API server that does not answer for autoscalers does not prevent a lock. The replica count is not touched until
// it answers, and restored then.
func TestCoexistence_AutoscalersThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hold := w.Proxy.HoldRequests(cluster.ForResource("horizontalpodautoscalers"))
	defer hold.Release()
	w.Installed(kit.Shared.Helm3(), "app", scaled)
	check.NoError(t, hold.Wait(t.Context(), 1))
	w.scale("web", 4)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, "the number of replicas is left alone")
	w.staysScaled(4)
	hold.Release()
	w.WaitField(kit.Deployments, "web", "spec.replicas", int64(2))
}

const filledIn = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: "{{ .Release.Namespace }}-empty"}
webhooks:
- name: none.example.com
  clientConfig: {service: {name: web, namespace: "{{ .Release.Namespace }}", path: /none}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
- name: blank.example.com
  clientConfig: {caBundle: Cg==, service: {name: web, namespace: "{{ .Release.Namespace }}", path: /blank}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Namespace }}-all"}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate: "{{ .Release.Namespace }}"}}]}
rules: []
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: v1
kind: Secret
metadata: {name: robot-token, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
`

// Fields that controllers fill in where the manifest leaves room stay, and the rest of those objects is protected.
func TestCoexistence_WhatControllersFillIn(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Chart("app", filledIn)
		w.Helm(helm, "install", "app", chart)
		webhooks, role := w.Apps+"-empty", w.Apps+"-all"
		w.WaitField(kit.Secrets, "robot-token", "type", "kubernetes.io/service-account-token")
		w.Until("the token is there", func() (any, bool) {
			return "it is not", kit.Field(w.Get(kit.Secrets, "robot-token"), "data.token") != nil
		})
		w.Proxy.Reset()
		w.Lock("app")
		w.exceptions("app", "RulesAggregated ClusterRole/"+role+" /rules",
			"CABundleInjected ValidatingWebhookConfiguration/"+webhooks+
				" /webhooks/0/clientConfig/caBundle,/webhooks/1/clientConfig/caBundle")

		const bundle = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"
		inject := fmt.Sprintf(`[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":%[1]q},
			{"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":%[1]q}]`, bundle)
		before := w.PatchIn(validators, "", webhooks, inject)
		rules := []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}}
		w.createIn(clusterRoles, "", map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
			"metadata": map[string]any{"name": w.Apps + "-part", "labels": map[string]any{"aggregate": w.Apps}},
			"rules":    rules})
		w.WaitFieldIn(clusterRoles, "", role, "rules", rules)
		w.PassFence()
		w.ExpectNoWrites()

		// A neighbour of a filled-in field is reverted, and the filled-in field survives that.
		w.PatchIn(validators, "", webhooks,
			`[{"op":"replace","path":"/webhooks/1/clientConfig/service/path","value":"/tampered"}]`)
		w.WaitFieldIn(validators, "", webhooks, "webhooks", before.Object["webhooks"])
		if helm.Name == "helm 4" {
			return // refuses to upgrade what others filled in, whether it was locked or not
		}
		w.Helm(helm, "upgrade", "app", chart)
		w.WaitReady("app", 2)
	})
}

// createIn creates an object as another user.
func (w *fixture) createIn(
	gvr schema.GroupVersionResource, namespace string, content map[string]any,
) *unstructured.Unstructured {
	w.Helper()
	u, err := w.In(gvr, namespace).Create(w.Ctx, &unstructured.Unstructured{Object: content},
		metav1.CreateOptions{FieldManager: kit.Tamperer})
	check.NoError(w, err)
	return u
}

var optedOut = kit.ConfigMap("locked", "declared") + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: free, annotations: {helmreleases.cattle.io/lock: disabled}}
data: {key: declared}
`

// The manifest may exempt an object; a live annotation is nothing but a change.
func TestI8_OptOutCountsInTheManifestOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", optedOut)
	w.exceptions("app", "OptedOut ConfigMap/free ")
	w.Patch(kit.ConfigMaps, "free", `{"data":{"key":"edited"}}`)
	w.Patch(kit.ConfigMaps, "locked",
		`{"metadata":{"annotations":{"helmreleases.cattle.io/lock":"disabled","helm.toolkit.fluxcd.io/driftDetection":"disabled"}}}`)
	w.Reverts("locked", "declared")
	w.PassFence()
	w.ExpectKey("free", "edited")
	n := w.HelmRelease("app").Status.Objects.Tracked
	check.That(t, n == 1, "%d objects are tracked", n)
}
