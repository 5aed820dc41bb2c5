package chart

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The API server accepts every object of every configuration, without an unknown field; and every Deployment's Pods
// satisfy the standard "restricted".
func TestAPIServerAcceptsEveryRenderedObject(t *testing.T) {
	e := newEnv(t)
	installMonitoringKinds(e)
	client, err := discovery.NewDiscoveryClientForConfig(kit.Shared.RESTConfig())
	check.NoError(t, err)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	restrict(e, e.Apps) // where Pods are tried
	for _, name := range []string{"helm-locker", "mine", "locker-b", "locker", "helm-locker-notifications",
		"locker-notifications", "helm-locker-policies", "mine-policies", "locker-b-policies", "locker-policies",
		"helm-locker-page", "mine-page", "locker-b-page", "locker-page", "helm-locker-teams"} {
		e.Account(e.Apps, name)
	}
	kinds := map[string]int{}
	for _, c := range matrix {
		t.Run(c.name, func(t *testing.T) {
			text, err := render(t, kit.Shared.Helm3(), c.chart, c.values, e.Operator)
			check.NoError(t, err)
			for _, u := range documents(t, text) {
				kinds[u.GetKind()]++
				if u.GetKind() == "Deployment" {
					check.Report(t, createPod(e, u))
				}
				mapping, err := mapper.RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
				check.NoError(t, err)
				var resource dynamic.ResourceInterface = e.Dynamic.Resource(mapping.Resource)
				if namespace := namespaceOf(u, mapping.Scope.Name() == "namespace", e.Operator); namespace != "" {
					resource = e.Dynamic.Resource(mapping.Resource).Namespace(namespace)
				}
				_, err = resource.Create(t.Context(), u, metav1.CreateOptions{
					DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
					FieldManager: "helm",
				})
				check.That(t, err == nil, "%s %s: %v", u.GetKind(), u.GetName(), err)
			}
		})
	}
	for _, kind := range []string{"Deployment", "ServiceAccount", "Service", "PodDisruptionBudget", "NetworkPolicy",
		"ClusterRole", "ClusterRoleBinding",
		"Role", "RoleBinding", "ConfigMap", "ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate",
		"HelmRelease"} {
		check.That(t, kinds[kind] != 0, "no configuration renders a %s", kind)
	}
}

// Unrestricted Pods are refused, so the check above would notice them.
func TestPrivilegedPodsAreRefused(t *testing.T) {
	e := newEnv(t)
	restrict(e, e.Apps)
	e.Account(e.Apps, "helm-locker")
	text, err := render(t, kit.Shared.Helm3(), operatorChart,
		"{securityContext: {privileged: true, allowPrivilegeEscalation: null}}", e.Operator)
	check.NoError(t, err)
	for _, u := range documents(t, text) {
		if u.GetKind() == "Deployment" && createPod(e, u) == nil {
			t.Error("a privileged Pod is accepted: the namespace is not restricted")
		}
	}
}

// createPod creates, in a dry run in Apps, a Pod as a Deployment would.
func createPod(e *kit.Env, deployment *unstructured.Unstructured) error {
	e.Helper()
	template := kit.Field(deployment, "spec.template").(map[string]any)
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": template["metadata"], "spec": template["spec"]}}
	pod = pod.DeepCopy()
	pod.SetName("locker")
	_, err := e.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(e.Apps).
		Create(e.Ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// restrict has a namespace take only Pods of the standard "restricted".
func restrict(e *kit.Env, namespace string) {
	e.Helper()
	patch := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`
	_, err := e.Kube.CoreV1().Namespaces().Patch(e.Ctx, namespace, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	check.NoError(e, err)
}

// namespaceOf returns the namespace of an object of a release, and sets it where the object names none.
func namespaceOf(u *unstructured.Unstructured, namespaced bool, release string) string {
	if namespaced && u.GetNamespace() == "" {
		u.SetNamespace(release)
	}
	return u.GetNamespace()
}

// documents returns the objects of a YAML stream. A duplicate key is an error.
func documents(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		check.NoError(t, err)
		content := map[string]any{}
		err = yaml.UnmarshalStrict(document, &content)
		check.Must(t, err == nil, "%v in\n%s", err, document)
		if len(content) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: content})
		}
	}
}

// installMonitoringKinds installs the kinds of the Prometheus operator, with no more of a schema than the chart may
// use.
func installMonitoringKinds(e *kit.Env) {
	e.Helper()
	endpoints := func(field, token string) string {
		return fmt.Sprintf(`{selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}}},
  %s: {type: array, items: {type: object, properties: {port: {type: string}, interval: {type: string}, relabelings: &r {type: array, items: {type: object,
    properties: {action: {type: string}, regex: {type: string}}}}, metricRelabelings: *r,
    authorization: {type: object, properties: {credentials: {type: object, properties: {name: {type: string}, key: {type: string}}}}}%s}}}}`, field, token)
	}
	rules := `{groups: {type: array, items: {type: object, properties: {name: {type: string}, rules: {type: array, items: {type: object, properties: {
  alert: {type: string}, expr: {type: string}, for: {type: string}, labels: &s {type: object, additionalProperties: {type: string}}, annotations: *s}}}}}}}`
	for plural, kind := range map[string][2]string{
		"servicemonitors": {"ServiceMonitor", endpoints("endpoints", ", bearerTokenFile: {type: string}")},
		"podmonitors":     {"PodMonitor", endpoints("podMetricsEndpoints", "")},
		"prometheusrules": {"PrometheusRule", rules},
	} {
		installKind(e, "monitoring.coreos.com", kind[0], plural, kind[1])
	}
	installKind(e, "cert-manager.io", "Certificate", "certificates", `{secretName: {type: string}, dnsNames: {type: array, items: {type: string}},
  issuerRef: {type: object, properties: {group: {type: string}, kind: {type: string}, name: {type: string}}}}`)
}
