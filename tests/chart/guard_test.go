package chart

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

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
	e.Until("the registration is gone", func() (any, bool) {
		_, err := e.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(e.Ctx,
			e.Operator+"-helm-locker-guard", metav1.GetOptions{})
		return err, apierrors.IsNotFound(err)
	})
	refused := refusals(requests(e, "helm-locker")[before:])
	check.That(t, len(refused) == 0, "not permitted: %+v", refused)
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
	refused := refusals(requests(e, "helm-locker")[before:])
	check.That(t, len(refused) == 0, "not permitted: %+v", refused)
	outlives(e, h, o, helmRelease)
	e.Until("the registration is gone", func() (any, bool) {
		_, err := configurations.Get(e.Ctx, name, metav1.GetOptions{})
		return err, apierrors.IsNotFound(err)
	})
}
