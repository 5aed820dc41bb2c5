package chart

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var webhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
	Resource: "validatingwebhookconfigurations"}

// When guard.enabled is set to false the operator removes the registration, with the permissions of the chart at that
// time.
func TestGuardThatIsDisabledGoes(t *testing.T) {
	e := newEnv(t)
	h := kit.Shared.Helm4()
	const guard = "{guard: {enabled: true}, trust: {records: Any}}\n"
	ports := freePorts(t)
	install(e, h, ports, guard)
	o := startDeployment(e, kit.Shared, "helm-locker")
	helmRelease := installExample(e, h)
	e.WaitReady(helmRelease, 1)
	e.PatchHelmRelease(helmRelease, `{"spec":{"guard":"Deny"}}`)
	e.WaitReason(helmRelease, v1alpha1.ConditionGuarded, v1alpha1.ReasonGuarded)
	o.stop()
	install(e, h, ports, "{guard: {enabled: false}, trust: {records: Any}}\n")
	before := len(requests(e, "helm-locker"))
	o = startDeployment(e, kit.Shared, "helm-locker")
	e.WaitGone(webhooks, "", e.Operator+"-helm-locker-guard")
	expectPermitted(e, "helm-locker", before)
	outlives(e, h, o, helmRelease)
}

// With guard.enabled the permissions suffice for the guard, also with the least profile and several replicas, and its
// registration is deleted when the chart is uninstalled.
func TestGuardIsPermittedAndGoes(t *testing.T) {
	e := newEnv(t)
	h := kit.Shared.Helm4()
	const guard = "{guard: {enabled: true}, replicas: 2}\n"
	ports := freePorts(t)
	install(e, h, ports, guard, "{rbac: {profile: scoped}}")
	o := startDeployment(e, kit.Shared, "helm-locker")
	helmRelease := installExample(e, h)
	e.WaitReason(helmRelease, v1alpha1.ConditionReady, v1alpha1.ReasonForbidden)
	rules, _ := cli(e, "rbac", e.Apps+"/example", "-o", "values")
	install(e, h, ports, guard, rules)
	e.WaitReady(helmRelease, 1)
	before := len(requests(e, "helm-locker"))
	name := e.Operator + "-helm-locker-guard"
	configurations := e.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	for _, is := range []struct{ guard, asked string }{
		{"Observe", "helm-locker-guard-leader"}, {"Deny", "helm-locker-guard"},
	} {
		e.PatchHelmRelease(helmRelease, `{"spec":{"guard":"`+is.guard+`"}}`)
		e.WaitReason(helmRelease, v1alpha1.ConditionGuarded, v1alpha1.ReasonGuarded)
		e.Until("the API server is to ask "+is.asked, func() (any, bool) {
			made, err := configurations.Get(e.Ctx, name, metav1.GetOptions{})
			check.NoError(t, err)
			service := made.Webhooks[0].ClientConfig.Service
			return service, service != nil && service.Name == is.asked
		})
	}
	expectPermitted(e, "helm-locker", before)
	outlives(e, h, o, helmRelease)
	e.WaitGone(webhooks, "", e.Operator+"-helm-locker-guard")
}
