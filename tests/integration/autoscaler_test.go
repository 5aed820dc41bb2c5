package integration

import (
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const ranged = `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 10}
`

// Scaling outside of the autoscaler's range returns to the autoscaler's number, and never to the manifest's. The
// autoscaler itself may be quicker than the operator: then the number is its nearest bound.
func TestAutoscaler_OutsideOfTheRange(t *testing.T) {
	t.Parallel()
	for version, helm := range kit.Helms(kit.Shared) {
		for name, declared := range map[string]bool{"of the release": true, "live": false} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				w.LockFence()
				template := scaled
				if declared {
					template += ranged
				}
				chart := w.Chart("app", template)
				w.Helm(helm, "install", "app", chart)
				w.Lock("app")
				if !declared {
					w.create(autoscalers, autoscaler("web", 2, 10, ""))
				}
				w.exceptions("app", "Autoscaled Deployment/web /spec/replicas")
				w.scale("web", 7)
				w.staysScaled(7)
				history := w.Record(kit.Deployments)
				for _, n := range []int64{20, 0} {
					w.scale("web", n)
					w.Until("the number is back in the range", func() (any, bool) {
						now, ok := kit.Field(w.Get(kit.Deployments, "web"), "spec.replicas").(int64)
						return now, ok && now >= 7 && now <= 10
					})
				}
				old := w.Get(kit.Deployments, "web")
				w.Delete(kit.Deployments, "web")
				w.WaitNewObject(kit.Deployments, "web", old.GetUID())
				w.WaitReady("app", 1)
				history.CatchUp()
				for _, u := range history.States(kit.Deployments, "web") {
					if n := kit.Field(u, "spec.replicas"); u != nil && n != int64(0) && n.(int64) < 7 {
						t.Errorf("it had %d replicas", n)
					}
				}
				w.Helm(helm, "upgrade", "app", chart)
				w.WaitReady("app", 2)
			})
		}
	}
}

// In scope Strict a replica count that no manifest declares belongs to the autoscaler, whoever wrote it last.
func TestAutoscaler_UndeclaredReplicasInStrict(t *testing.T) {
	t.Parallel()
	for name, declared := range map[string]bool{"of the release": true, "live": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.LockFence()
			template := strings.Replace(scaled, "  replicas: 2\n", "", 1)
			if declared {
				template += ranged
			}
			w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", template))
			if !declared {
				w.create(autoscalers, autoscaler("web", 2, 10, ""))
			}
			w.Lock("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = v1alpha1.ScopeStrict })
			w.Patch(kit.Deployments, "web", `{"spec":{"replicas":5}}`)
			w.staysScaled(5)
		})
	}
}
