package real

import (
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	autoscalers   = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
)

const scaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:{{ .Values.version }}", resources: {requests: {cpu: 10m}}}]}
`

// Triggers of KEDA, the ends of whose periods come before their beginnings, or after.
const (
	active   = `[{"type":"cron","metadata":{"timezone":"UTC","start":"0 0 1 1 *","end":"* * * * *","desiredReplicas":"2"}}]`
	inactive = `[{"type":"cron","metadata":{"timezone":"UTC","start":"* * * * *","end":"0 0 1 1 *","desiredReplicas":"2"}}]`
)

var keda = neighbour{"KEDA", "keda", cluster.KEDAModule,
	"to zero, back, and to a number while it is paused; its autoscaler created and deleted", "`Autoscaled`"}

// The real KEDA scales a locked workload to zero and back, while it is paused and while it is not, and no number of its
// is reverted. Without the ScaledObject the number is Helm's again.
func TestNeighbour_RealKEDA(t *testing.T) {
	binaries := keda.built(t)
	own := kit.Start(t)
	_, source, err := cluster.Module(own.Ctx, "keda", cluster.KEDAModule)
	check.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(source, "config", "crd", "bases", "*.yaml"))
	check.NoError(t, err)
	for _, file := range []string{"service_account/service_account.yaml", "rbac/role.yaml", "rbac/role_binding.yaml",
		"manager/manager.yaml", "manager/service.yaml"} {
		files = append(files, filepath.Join(source, "config", file))
	}
	installOwn(own, "keda", "keda", files...)
	config, err := kit.Shared.ServiceAccountConfig(own.Ctx, "keda", "keda-operator")
	check.NoError(t, err)
	start(own, config, "keda", binaries.KEDA, append(ports(own, "--metrics-bind-address=127.0.0.1:%d",
		"--health-probe-bind-address=127.0.0.1:%d", "--metrics-service-bind-address=127.0.0.1:%d"),
		"--cert-dir="+certificates(own))...)
	own.Proxy.Reset()
	t.Run("releases", func(t *testing.T) { kit.EachHelm(t, isScaledByKEDA) })
	keda.expectNoReverts(own)
	keda.done(own)
}

// certificates writes a certificate for the port of KEDA's metrics.
func certificates(f *kit.Fixture) (dir string) {
	f.Helper()
	config, err := kit.Shared.UserConfig("keda-operator")
	check.NoError(f, err)
	dir = f.TempDir()
	for name, text := range map[string][]byte{"ca.crt": config.CAData, "tls.crt": config.CertData, "tls.key": config.KeyData} {
		check.NoError(f, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

func isScaledByKEDA(t *testing.T, h cluster.Helm) {
	f := kit.Start(t)
	chart := f.Chart("app", scaled)
	f.Helm(h, "install", "app", chart, "--set", "version=1")
	f.Lock("app")
	f.Proxy.Reset()
	replicas := func(n int64) { f.Helper(); f.WaitField(kit.Deployments, "web", "spec.replicas", n) }
	_, err := f.In(scaledObjects, f.Apps).Patch(f.Ctx, "web", types.ApplyPatchType, []byte(`{
		"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"web"},
		"spec":{"scaleTargetRef":{"name":"web"},"minReplicaCount":0,"maxReplicaCount":5,"pollingInterval":1,
		"cooldownPeriod":1,"triggers":`+inactive+`}}`), metav1.PatchOptions{FieldManager: "user"})
	check.NoError(t, err)
	replicas(0)
	f.Patch(scaledObjects, "web", `{"spec":{"triggers":`+active+`}}`)
	replicas(1)
	f.Patch(scaledObjects, "web", `{"metadata":{"annotations":{"autoscaling.keda.sh/paused":"true"}}}`)
	f.Until("KEDA has deleted its autoscaler", func() (any, bool) {
		u := f.Get(autoscalers, "keda-hpa-web")
		return u, u == nil
	})
	f.Patch(scaledObjects, "web", `{"metadata":{"annotations":{"autoscaling.keda.sh/paused-replicas":"4"}}}`)
	replicas(4)
	f.Patch(scaledObjects, "web", `{"spec":{"triggers":`+inactive+`},"metadata":{"annotations":
		{"autoscaling.keda.sh/paused":null,"autoscaling.keda.sh/paused-replicas":null}}}`)
	replicas(0)
	if h.Name == "helm 3" { // Helm 4 applies the declared number, and conflicts with KEDA, locked or not
		f.Helm(h, "upgrade", "app", chart, "--set", "version=2")
		f.WaitReady("app", 2)
		replicas(0)
	}
	keda.expectNoReverts(f)
	all := f.HelmRelease("app").Status.Exceptions
	check.That(t, len(all) == 1 && all[0].Reason == v1alpha1.ExceptionAutoscaled, "exceptions %v", all)
	check.NoError(t, f.In(scaledObjects, f.Apps).Delete(f.Ctx, "web", metav1.DeleteOptions{}))
	replicas(3)
}
