//go:build linux

package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	lib "github.com/rancher/helm-locker/tests/lib/node"
)

// autoscaled is a chart of a workload that declares its number of replicas and an autoscaler.
const autoscaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      SPEC
      containers: [{name: web, image: IMAGE, args: {{ .Values.args }}, CONFINED}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 50m}}}]
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
`

// The autoscaler of a chart scales a locked workload by the metrics of metrics-server, up and down: no drift is found,
// and a number outside of its range is reverted.
func TestNode_AWorkloadThatIsScaledByItsMetrics(t *testing.T) {
	f := newFixture(t)
	f.registerMetrics()
	h := shared.Cluster.Helm3() // Helm 4 refuses to upgrade a declared number that an autoscaler has set, locked or not
	f.install(shared.Cluster.Helm4())
	chart, err := cluster.Chart(f.TempDir(), "web", "0.1.0", map[string]string{"all.yaml": confined(autoscaled)}, "")
	check.NoError(t, err)
	begun := time.Now()
	f.Helm(h, "upgrade", "--install", "web", chart, "--set-json", `args=["burn"]`, "--wait", "--timeout", "3m")
	f.Lock("web")
	f.replicas(2)
	f.Helm(h, "upgrade", "web", chart, "--set-json", "args=[]", "--wait", "--timeout", "3m")
	f.WaitReady("web", 2)
	f.replicas(1)
	f.expectNoDrift("web")
	t.Logf("scaled up and down within %s", time.Since(begun).Round(time.Second))
	f.Kubectl("scale", "deployment/web", "--replicas=0")
	f.within(patience, "the number is back in the range", func() error { return f.hasReplicas(1, 2) })
}

// confined completes a chart for Pods of the standard "restricted" with the image of the workload.
func confined(chart string) string {
	return strings.NewReplacer("IMAGE", lib.Workload,
		"SPEC", "securityContext: {runAsNonRoot: true, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}",
		"CONFINED", "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}").Replace(chart)
}

// replicas waits until the autoscaler has set a number of replicas.
func (f *fixture) replicas(want int64) {
	f.Helper()
	f.within(2*patience, fmt.Sprintf("there are %d replicas", want), func() error {
		if err := f.hasReplicas(want, want); err != nil {
			hpa, getErr := f.TryKubectl("get", "hpa", "web", "-o", "jsonpath={.status}")
			return errors.Join(fmt.Errorf("%w; the autoscaler: %s", err, hpa), getErr)
		}
		return nil
	})
}

func (f *fixture) hasReplicas(least, most int64) error {
	web, err := f.In(kit.Deployments, f.Apps).Get(f.Ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if n, _ := kit.Field(web, "spec.replicas").(int64); n < least || n > most {
		return fmt.Errorf("there are %d", n)
	}
	return nil
}

// registerMetrics starts metrics-server, and registers its API, unless an earlier test has.
func (f *fixture) registerMetrics() {
	f.Helper()
	const name, namespace = "metrics-server", metav1.NamespaceSystem
	_, err := f.Kube.CoreV1().Services(namespace).Get(f.Ctx, name, metav1.GetOptions{})
	if err == nil {
		return
	}
	check.NoError(f, shared.StartMetrics(f.Ctx))
	_, err = f.Kube.CoreV1().Services(namespace).Create(f.Ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: lib.MetricsPort}}},
	}, metav1.CreateOptions{})
	check.NoError(f, err)
	port := int32(lib.MetricsPort)
	_, err = f.Kube.DiscoveryV1().EndpointSlices(namespace).Create(f.Ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{lib.Address}}},
		Ports: []discoveryv1.EndpointPort{{Name: new("https"), Port: &port}},
	}, metav1.CreateOptions{})
	check.NoError(f, err)
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{"group": "metrics.k8s.io", "version": "v1beta1", "insecureSkipTLSVerify": true,
			"groupPriorityMinimum": int64(100), "versionPriority": int64(100), "service": map[string]any{
				"name": name, "namespace": namespace, "port": int64(lib.MetricsPort)}},
	}}
	services := f.In(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1",
		Resource: "apiservices"}, "")
	_, err = services.Create(f.Ctx, service, metav1.CreateOptions{})
	check.NoError(f, err)
	// The API server has no certificate of its own for other API servers, so its users are anonymous there.
	f.Allow("", name, kit.User("system:anonymous"), rbacv1.PolicyRule{APIGroups: []string{"metrics.k8s.io"},
		Resources: []string{"nodes", "pods"}, Verbs: []string{"get", "list"}})
	f.within(patience, "metrics are served", func() error {
		_, err := f.TryKubectl("top", "nodes")
		return err
	})
}
