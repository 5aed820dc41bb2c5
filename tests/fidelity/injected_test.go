package fidelity

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// withSidecar is a Deployment into which the webhook below injects a container and a variable.
const withSidecar = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 0
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: main, image: "example.com/main:1", env: [{name: A, value: a}]}]}
`

// injector is a webhook that injects a container before the declared one, and a variable, where they are missing.
type injector struct {
	down  atomic.Bool
	image atomic.Value
}

func (i *injector) mutate(object map[string]any) (operations []string) {
	containers := containersOf(object)
	if i.down.Load() || len(containers) == 0 {
		return nil
	}
	if main := named(containers, "main"); main >= 0 {
		if !strings.Contains(fmt.Sprint(containers[main]["env"]), "name:INJECTED") {
			operations = append(operations, add(fmt.Sprintf("%s/containers/%d/env/-", pod, main), `{"name":"INJECTED","value":"1"}`))
		}
	}
	if named(containers, "sidecar") < 0 {
		operations = append(operations, add(pod+"/containers/0", fmt.Sprintf(
			`{"name":"sidecar","image":%q,"args":["--one"],"env":[{"name":"X","value":"x"}]}`, i.image.Load())))
	}
	return operations
}

// content is what a revert has to restore.
func content(u *unstructured.Unstructured) string {
	text, err := json.Marshal(u.Object["spec"])
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *fixture) strictly(helm cluster.Helm) *injector {
	w.Helper()
	i := &injector{}
	i.image.Store("registry.local/sidecar:1")
	w.Webhook(i.mutate)
	w.Installed(helm, "app", withSidecar, func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = v1alpha1.ScopeStrict })
	return i
}

const sidecar = pod + "/containers/0"

// A change in a container or a variable that a webhook injected is taken out: the webhook injects it again.
func TestI5_StrictRestoresInjectedElements(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.strictly(helm)
		good := content(w.Get(kit.Deployments, "app"))
		for name, patch := range map[string]string{
			"image":                 set(sidecar+"/image", `"evil.example/sidecar"`),
			"argument":              add(sidecar+"/args/-", `"--evil"`),
			"variable":              add(sidecar+"/env/-", `{"name":"EVIL","value":"1"}`),
			"value of a variable":   set(sidecar+"/env/0/value", `"evil"`),
			"further field":         add(sidecar+"/tty", `true`),
			"removed variables":     del(sidecar + "/env"),
			"removed arguments":     del(sidecar + "/args"),
			"variable of another":   set(pod+"/containers/1/env/1/value", `"evil"`),
			"beside declared drift": set(sidecar+"/image", `"evil.example/a"`) + "," + set(pod+"/containers/1/image", `"evil.example/b"`),
		} {
			u := w.Patch(kit.Deployments, "app", "["+patch+"]")
			check.Must(t, content(u) != good, "%s: the edit changed nothing", name)
			w.Eventually(name+" is as it was", func() error {
				if got := content(w.Get(kit.Deployments, "app")); got != good {
					return fmt.Errorf("it is %s", got)
				}
				return nil
			})
			w.PassFence()
		}
		w.WaitReason("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftReverted)
		w.Helm(helm, "upgrade", "app", w.Chart("app", strings.Replace(withSidecar, "main:1", "main:2", 1)))
		w.WaitReady("app", 2)
	})
}

// A change that was made before the lock is found by its owner.
func TestI5_StrictRestoresInjectedElementsAtTheFirstLock(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.strictly(helm)
		good := w.Get(kit.Deployments, "app")
		w.whileSuspended(func() { w.Patch(kit.Deployments, "app", "["+set(sidecar+"/image", `"evil.example/sidecar"`)+"]") })
		w.WaitField(kit.Deployments, "app", "spec", good.Object["spec"])
	})
}

// Nothing is written where no webhook injects the element again, or where the webhook itself injects another form.
func TestI6_StrictLeavesInjectedElementsWithoutTheirWebhook(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		i := w.strictly(helm)
		w.PassFence()
		w.Proxy.Reset()
		i.down.Store(true)
		w.relock()
		w.expectNoWrites("while the webhook is down", "deployments")
		u := w.Patch(kit.Deployments, "app", "["+set(sidecar+"/image", `"evil.example/sidecar"`)+"]")
		w.PassFence()
		w.WaitReason("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonNoDrift)
		w.expectNoWrites("after an edit while the webhook is down", "deployments")
		check.Equal(t, content(w.Get(kit.Deployments, "app")), content(u), "it")
		i.image.Store("registry.local/sidecar:2")
		i.down.Store(false)
		w.Patch(kit.Deployments, "app", "["+del(sidecar)+"]") // the webhook injects the newer one
		w.PassFence()
		w.expectNoWrites("after the webhook injected another form", "deployments")
		got := kit.Field(w.Get(kit.Deployments, "app"), "spec.template.spec.containers")
		check.That(t, strings.Contains(fmt.Sprint(got), "sidecar:2"), "containers are %v", got)
	})
}
