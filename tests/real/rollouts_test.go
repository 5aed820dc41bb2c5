package real

import (
	"fmt"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var rollouts = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}

const rolloutsName = "argo-rollouts" // of the namespace, the release and the ServiceAccount

// canary is a workload with a Rollout for its Pods, and two Services with selectors that the controller completes.
const canary = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:{{ .Values.version }}"}]}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 2
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web, scaleDown: onsuccess}
  strategy: {canary: {canaryService: canary, stableService: stable, steps: [{setWeight: 50}, {pause: {duration: 1s}}]}}
---
apiVersion: v1
kind: Service
metadata: {name: canary}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: stable}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

// blueGreen is a Rollout with a template of its own. The controller switches its two Services.
const blueGreen = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: bg}
spec:
  replicas: 2
  selector: {matchLabels: {app: bg}}
  template:
    metadata: {labels: {app: bg}}
    spec: {containers: [{name: bg, image: "example.com/bg:{{ .Values.version }}"}]}
  strategy: {blueGreen: {activeService: active, previewService: preview, scaleDownDelaySeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: active}
spec: {selector: {app: bg}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: preview}
spec: {selector: {app: bg}, ports: [{port: 80}]}
`

var argo = neighbour{"Argo Rollouts", "rollouts", cluster.RolloutsModule,
	"a canary that takes over a Deployment (`workloadRef`), and blue-green, each moved by `helm upgrade`",
	"`Autoscaled`, and additions to selectors in scope `Declared`"}

// The real Argo Rollouts takes over a locked workload, and shifts two locked Rollouts to a new revision: none of its
// writes is reverted. A user's change of a Service is reverted, and the controller completes the selector again.
func TestNeighbour_RealArgoRollouts(t *testing.T) {
	binaries := argo.built(t)
	own := kit.Start(t)
	_, source, err := cluster.Module(own.Ctx, "rollouts", cluster.RolloutsModule)
	check.NoError(t, err)
	installOwn(own, rolloutsName, rolloutsName, filepath.Join(source, "manifests", "install.yaml"))
	config, err := kit.Shared.ServiceAccountConfig(own.Ctx, rolloutsName, rolloutsName)
	check.NoError(t, err)
	start(own, config, rolloutsName, binaries.Rollouts,
		append(ports(own, "--metricsPort=%d", "--healthzPort=%d"), "--leader-elect=false", "--loglevel=warn")...)
	runPods(own)
	own.Proxy.Reset()
	t.Run("releases", func(t *testing.T) { kit.EachHelm(t, shiftsTwice) })
	// The release of the controller itself is locked while it works.
	argo.expectNoReverts(own)
	argo.done(own)
}

// shiftsTwice installs, locks and upgrades both Rollouts.
func shiftsTwice(t *testing.T, h cluster.Helm) {
	f := kit.Start(t)
	chart := f.Chart("app", canary+"---"+blueGreen)
	f.Helm(h, "install", "app", chart, "--set", "version=1")
	f.Lock("app")
	f.Proxy.Reset()
	first := healthy(f, 1)
	f.WaitField(kit.Deployments, "web", "spec.replicas", int64(0))
	// Helm 4 applies the selectors, which the controller has completed, locked or not (docs/behaviours.md).
	upgrade := []string{"upgrade", "app", chart, "--set", "version=2"}
	if h.Name == "helm 4" {
		upgrade = append(upgrade, "--force-conflicts")
	}
	f.Helm(h, upgrade...)
	f.WaitReady("app", 2)
	for name, hash := range healthy(f, 2) {
		check.That(t, hash != first[name], "the Rollout %s has not moved", name)
	}
	argo.expectNoReverts(f)

	f.Patch(kit.Services, "stable", `{"spec":{"selector":{"app":"tampered"}}}`)
	f.WaitField(kit.Services, "stable", "spec.selector.app", "web")
	f.Until("the controller completes the selector again", func() (any, bool) {
		hash := kit.Field(f.Get(kit.Services, "stable"), "spec.selector.rollouts-pod-template-hash")
		return hash, hash != nil
	})
	n := len(kit.ObjectWrites(f.Proxy))
	check.That(t, n == 1, "the change of a Service took %d writes", n)
}

// healthy waits until both Rollouts are at a version, and returns their Pod template hashes.
func healthy(f *kit.Fixture, version int) map[string]any {
	f.Helper()
	hashes := map[string]any{}
	for _, name := range []string{"web", "bg"} {
		f.Until(fmt.Sprintf("the Rollout %s is healthy at version %d", name, version), func() (any, bool) {
			u, err := f.In(rollouts, f.Apps).Get(f.Ctx, name, metav1.GetOptions{})
			check.NoError(f, err)
			status, _ := u.Object["status"].(map[string]any)
			stable := status["stableRS"]
			hashes[name] = stable
			return status, status["phase"] == "Healthy" && stable != nil && stable == status["currentPodHash"] &&
				fmt.Sprint(status["observedGeneration"]) == fmt.Sprint(u.GetGeneration())
		})
	}
	return hashes
}
