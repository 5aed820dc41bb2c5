package real

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	verticals = schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers"}
	mutators  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "mutatingwebhookconfigurations"}
)

// resized is a workload with Pods on vpaNode, and its autoscaler. The webhook fills in the update mode.
const resized = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, version: "{{ .Values.version }}"}}
    spec:
      nodeName: ` + vpaNode + `
      terminationGracePeriodSeconds: 0
      containers:
      - name: web
        image: example.com/web:{{ .Values.version }}
        resources: {requests: {cpu: 100m, memory: 64Mi}}
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, labels: {version: "{{ .Values.version }}"}}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
`

const (
	vpaName = "vpa" // of the namespace, the release and the ServiceAccounts
	vpaNode = "node-of-vpa"
)

var vpa = neighbour{"Vertical Pod Autoscaler", "vpa", cluster.VPAModule,
	"recommends, evicts Pods and changes their requests, in both scopes, with `helm upgrade` in between",
	"no rule: it writes to Pods, and to the status of its objects"}

// The real Vertical Pod Autoscaler writes the status of its locked object, evicts Pods of a locked workload and
// changes their successors: nothing of it is reverted. A user's changes of both objects are.
func TestNeighbour_RealVerticalAutoscaler(t *testing.T) {
	binaries := vpa.built(t)
	own := kit.Start(t)
	_, source, err := cluster.Module(own.Ctx, "vpa", cluster.VPAModule)
	check.NoError(t, err)
	// The certificate of the webhook would be made by a Pod.
	installChart(own, vpaName, vpaName, filepath.Join(source, "charts", "vertical-pod-autoscaler"),
		"--set", "fullnameOverride="+vpaName, "--set", "admissionController.certGen.enabled=false",
		"--set", "admissionController.registerWebhook=true")
	addNode(own)
	runPods(own)
	startVPA(own, binaries.VPAAdmission, append(ports(own, "--address=127.0.0.1:%d"),
		append(webhookAt(own), "--status-lease-namespace="+vpaName)...)...)
	own.Until("the webhook is registered", func() (any, bool) {
		_, err := own.Dynamic.Resource(mutators).Get(own.Ctx, "vpa-webhook-config", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			check.NoError(t, err)
		}
		return err, err == nil
	})
	// Without metrics the recommendation is the minimum.
	startVPA(own, binaries.VPARecommender, append(ports(own, "--address=127.0.0.1:%d"), "--recommender-interval=1s",
		"--pod-recommendation-min-cpu-millicores=250")...)
	startVPA(own, binaries.VPAUpdater, append(ports(own, "--address=127.0.0.1:%d"), "--updater-interval=1s",
		"--admission-controller-status-lease-namespace="+vpaName)...)
	own.Proxy.Reset()
	t.Run("releases", func(t *testing.T) { kit.EachHelm(t, isResized) })
	vpa.expectNoReverts(own)
	vpa.done(own)
}

// startVPA starts a program of the autoscaler with the rights of its ServiceAccount.
func startVPA(f *kit.Fixture, path string, args ...string) {
	f.Helper()
	config, err := kit.Shared.ServiceAccountConfig(f.Ctx, vpaName, vpaName+"-"+filepath.Base(path))
	check.NoError(f, err)
	start(f, config, vpaName, path, args...)
}

// webhookAt returns the flags of a webhook on a free port of loopback, with the certificate of the API server.
func webhookAt(f *kit.Fixture) []string {
	f.Helper()
	port := ports(f, "%d")[0]
	file := func(name string) string { return filepath.Join(kit.Shared.Dir(), name) }
	return []string{"--port=" + port, "--webhook-port=" + port, "--webhook-address=https://127.0.0.1",
		"--register-by-url", "--client-ca-file=" + file("ca.crt"), "--tls-cert-file=" + file("server.crt"),
		"--tls-private-key=" + file("server.key")}
}

// addNode creates the node of the Pods, without a kubelet: the updater leaves Pods without a node alone.
func addNode(f *kit.Fixture) {
	f.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: vpaNode}}
	node, err := f.Kube.CoreV1().Nodes().Create(f.Ctx, node, metav1.CreateOptions{})
	check.NoError(f, err)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		LastHeartbeatTime: metav1.Now()}}
	_, err = f.Kube.CoreV1().Nodes().UpdateStatus(f.Ctx, node, metav1.UpdateOptions{})
	check.NoError(f, err)
}

func isResized(t *testing.T, h cluster.Helm) {
	f := kit.Start(t)
	chart := f.Chart("app", resized)
	f.Helm(h, "install", "app", chart, "--set", "version=1")
	f.Lock("app")
	f.Proxy.Reset()
	waitResized(f, "1")
	f.PatchHelmRelease("app", `{"spec":{"scope":"Strict"}}`)
	f.Helm(h, "upgrade", "app", chart, "--set", "version=2")
	f.WaitReady("app", 2)
	waitResized(f, "2")
	vpa.expectNoReverts(f)

	f.Patch(kit.Deployments, "web", `{"spec":{"replicas":3}}`)
	f.WaitField(kit.Deployments, "web", "spec.replicas", int64(2))
	f.Patch(verticals, "web", `{"spec":{"updatePolicy":{"updateMode":"Off"},"targetRef":{"name":"other"}}}`)
	f.WaitField(verticals, "web", "spec.targetRef.name", "web")
	f.WaitField(verticals, "web", "spec.updatePolicy.updateMode", "Recreate")
	waitResized(f, "2")
	// Statuses change all the time. The API server refuses a write with an old version.
	writes := slices.DeleteFunc(kit.ObjectWrites(f.Proxy), func(r cluster.Request) bool {
		return r.Code == http.StatusConflict || r.Code == http.StatusUnprocessableEntity
	})
	if len(writes) < 2 || len(writes) > 4 { // with Helm 4, the ownership of the fields is restored, too
		t.Errorf("two changes took the writes %v", writes)
	}
}

// waitResized waits until the autoscaler has written a recommendation, and the two Pods of a version follow it.
func waitResized(f *kit.Fixture, version string) {
	f.Helper()
	f.Until("the recommendation is written", func() (any, bool) {
		recommended, _ := kit.Field(f.Get(verticals, "web"), "status.recommendation.containerRecommendations").([]any)
		return recommended, len(recommended) == 1
	})
	f.Until("the Pods follow the recommendation", func() (any, bool) {
		pods, err := f.Kube.CoreV1().Pods(f.Apps).List(f.Ctx, metav1.ListOptions{})
		check.NoError(f, err)
		var saw []string
		follow := len(pods.Items) == 2
		for _, pod := range pods.Items {
			cpu := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
			saw = append(saw, pod.Name+" "+pod.Labels["version"]+" "+cpu.String())
			follow = follow && pod.Labels["version"] == version && cpu.Cmp(resource.MustParse("250m")) == 0
		}
		return saw, follow
	})
}
