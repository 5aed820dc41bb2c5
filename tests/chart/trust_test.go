package chart

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Trust is on by default: the API server asks the operator, whose permissions suffice, and the guard stays off.
func TestTrustIsPermittedWithoutTheGuard(t *testing.T) {
	e := newEnv(t)
	h := kit.Shared.Helm4()
	install(e, h, freePorts(t), `trust: {neverWriters: [{kind: Group, name: "a:b"},
  {kind: ServiceAccount, name: external-secrets, namespace: kube-system}]}`)
	o := startDeployment(e, kit.Shared, "helm-locker")
	helmRelease := installExample(e, h)
	e.WaitReady(helmRelease, 1)
	trust := e.HelmRelease(helmRelease).Status.Trust
	check.That(t, trust != nil && trust.State == v1alpha1.TrustStateTrusted, "the trust is %+v", trust)
	lockedByPolicy(e, h)
	configurations := e.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	name := e.Operator + "-helm-locker-guard"
	made, err := configurations.Get(e.Ctx, name, metav1.GetOptions{})
	check.NoError(t, err)
	check.That(t, len(made.Webhooks) == 1 && made.Webhooks[0].Name == "records.guard.helm-locker.cattle.io",
		"the API server is to ask %v", made.Webhooks)
	refused := refusals(requests(e, "helm-locker"))
	check.That(t, len(refused) == 0, "not permitted: %+v", refused)
	outlives(e, h, o, helmRelease)
	e.Until("the registration is gone", func() (any, bool) {
		_, err := configurations.Get(e.Ctx, name, metav1.GetOptions{})
		return err, apierrors.IsNotFound(err)
	})
}

// lockedByPolicy has a policy without acceptRecordsOfAnyone enforce a release.
func lockedByPolicy(e *kit.Env, h cluster.Helm) {
	e.Helper()
	startDeployment(e, kit.Shared, "helm-locker-policies")
	e.Helm(h, "install", "plain", e.Chart("plain", kit.ConfigMap("plain", "1")))
	policy := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "plain"},
		"spec": map[string]any{"match": map[string]any{"releases": []any{"plain"}, "namespaces": []any{e.Apps}}}}}
	policy.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.PolicyKind))
	_, err := e.In(v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.PolicyResourceName), e.Operator).Create(e.Ctx,
		policy, metav1.CreateOptions{})
	check.NoError(e, err)
	made := e.Apps + ".plain"
	e.Until("the policy enforces the release", func() (any, bool) {
		got, err := e.In(kit.HelmReleases, e.Operator).Get(e.Ctx, made, metav1.GetOptions{})
		if err != nil {
			return err, false
		}
		mode, _, err := unstructured.NestedString(got.Object, "spec", "mode")
		return mode, err == nil && mode == string(v1alpha1.ModeEnforce)
	})
	e.WaitReady(made, 1)
	e.Patch(kit.ConfigMaps, "plain", `{"data":{"key":"tampered"}}`)
	e.WaitField(kit.ConfigMaps, "plain", "data.key", "1")
}
