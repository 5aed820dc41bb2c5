package integration

import (
	"net/http"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
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
				template := scaled
				if declared {
					template += ranged
				}
				chart := w.Installed(helm, "app", template)
				if !declared {
					w.create(autoscalers, autoscaler("web", 2, 10, ""))
				}
				w.exceptions("app", "Autoscaled Deployment/web /spec/replicas")
				w.scale("web", 7)
				w.staysScaled(7)
				history := w.Record(kit.Deployments)
				for _, n := range []int64{20, 0} {
					w.returnsToRange(n)
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

// returnsToRange sets a number of replicas outside of the range, and waits until it is between the last one and the
// greatest.
func (w *fixture) returnsToRange(n int64) {
	w.Helper()
	w.scale("web", n)
	w.Until("the number is back in the range", func() (any, bool) {
		now, ok := kit.Field(w.Get(kit.Deployments, "web"), "spec.replicas").(int64)
		return now, ok && now >= 7 && now <= 10
	})
}

// In scope Strict a replica count that no manifest declares belongs to the autoscaler, whoever wrote it last.
func TestAutoscaler_UndeclaredReplicasInStrict(t *testing.T) {
	t.Parallel()
	for name, declared := range map[string]bool{"of the release": true, "live": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
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

// An operator that cannot list the autoscalers at its start must not assume that none exist. It does not touch the
// replica count, and reverts the other fields.
func TestHostile_AutoscalersThatCannotBeListed(t *testing.T) {
	t.Parallel()
	for name, obstruct := range map[string]func(w *fixture) (remove func()){
		"the lists fail": func(w *fixture) func() {
			return w.Proxy.On(cluster.ForResource("horizontalpodautoscalers"),
				cluster.Fail(http.StatusInternalServerError, "not now"))
		},
		"the lists are not answered": func(w *fixture) func() {
			return w.Proxy.HoldRequests(cluster.ForResource("horizontalpodautoscalers")).Release
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", scaled))
			w.create(autoscalers, autoscaler("web", 2, 10, ""))
			w.scale("web", 7)
			w.Patch(kit.Deployments, "web",
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/web:tampered"}]}}}}`)
			remove := obstruct(w)
			history := w.Record(kit.Deployments)
			w.CreateHelmRelease("app")
			w.WaitField(kit.Deployments, "web", webImage, "example.com/web:1")
			w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, "may set it are not known")
			remove()
			w.WaitReady("app", 1)
			w.PassFence()
			history.CatchUp()
			for _, u := range history.States(kit.Deployments, "web") {
				n := kit.Field(u, "spec.replicas")
				check.That(t, n == int64(7), "it had %v replicas", n)
			}
			w.exceptions("app", "Autoscaled Deployment/web /spec/replicas")
			w.returnsToRange(20)
		})
	}
}

// The event of an autoscaler can arrive after that of its Deployment.
func TestHostile_AutoscalerIsDeliveredLate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", scaled)
	release := w.Proxy.HoldWatch(cluster.WatchOf("horizontalpodautoscalers"))
	defer release()
	w.create(autoscalers, autoscaler("web", 2, 10, ""))
	w.scale("web", 7)
	w.staysScaled(7)
	w.Patch(autoscalers, "web", `{"spec":{"maxReplicas":20}}`)
	w.scale("web", 15)
	w.staysScaled(15)
	w.Delete(autoscalers, "web")
	w.scale("web", 16)
	w.WaitField(kit.Deployments, "web", "spec.replicas", int64(2))
}

// A HelmRelease can leave the range of the release's own autoscaler to others. Then the live range counts.
func TestHostile_AutoscalerWhoseRangeIsIgnored(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", scaled+ranged, func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/spec/maxReplicas"},
			Target: &v1alpha1.IgnoreTarget{Kind: "HorizontalPodAutoscaler"}}}
	})
	w.Patch(autoscalers, "web", `{"spec":{"maxReplicas":20}}`)
	w.scale("web", 15)
	w.staysScaled(15)
}
