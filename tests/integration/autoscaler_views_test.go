package integration

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// scaledByHand is a Deployment with seven replicas in the range of a live autoscaler, and an undeclared image.
func (w *fixture) scaledByHand() {
	w.Helper()
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", scaled))
	w.create(autoscalers, autoscaler("web", 2, 10, ""))
	w.scale("web", 7)
	w.Patch(kit.Deployments, "web",
		`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/web:tampered"}]}}}}`)
}

// An operator that cannot list the autoscalers at its start must not assume that none exist. It does not touch the
// replica count, and reverts the other fields.
func TestHostile_AutoscalersThatCannotBeListed(t *testing.T) {
	t.Parallel()
	for name, obstruct := range map[string]func(w *fixture) (remove func()){
		"the lists fail": func(w *fixture) func() {
			return w.Proxy.Intercept(func(r *http.Request) cluster.Action {
				if cluster.ForResource("horizontalpodautoscalers")(r) {
					return cluster.Fail(http.StatusInternalServerError, metav1.StatusReasonInternalError, "not now")
				}
				return cluster.Forward()
			})
		},
		"the lists are not answered": func(w *fixture) func() {
			return w.Proxy.HoldRequests(cluster.ForResource("horizontalpodautoscalers")).Release
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.LockFence()
			w.scaledByHand()
			remove := obstruct(w)
			history := w.Record(kit.Deployments)
			w.CreateHelmRelease("app")
			image := "spec.template.spec.containers"
			w.Until("the image is reverted", func() (any, bool) {
				containers, ok := kit.Field(w.Get(kit.Deployments, "web"), image).([]any)
				return containers, ok && containers[0].(map[string]any)["image"] == "example.com/web:1"
			})
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
			w.scale("web", 20)
			w.Until("the number is back in the range", func() (any, bool) {
				now, ok := kit.Field(w.Get(kit.Deployments, "web"), "spec.replicas").(int64)
				return now, ok && now >= 7 && now <= 10
			})
		})
	}
}

// The event of an autoscaler can arrive after that of its Deployment.
func TestHostile_AutoscalerIsDeliveredLate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
	w.Installed(kit.Shared.Helm3(), "app", scaled)
	release := w.Proxy.HoldWatch(watching("horizontalpodautoscalers"))
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
	w.LockFence()
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", scaled+ranged))
	w.Lock("app", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/spec/maxReplicas"},
			Target: &v1alpha1.IgnoreTarget{Kind: "HorizontalPodAutoscaler"}}}
	})
	w.Patch(autoscalers, "web", `{"spec":{"maxReplicas":20}}`)
	w.scale("web", 15)
	w.staysScaled(15)
}
