package chart

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	expectPermitted(e, "helm-locker", 0)
	outlives(e, h, o, helmRelease)
	e.WaitGone(webhooks, "", e.Operator+"-helm-locker-guard")
}

// lockedByPolicy has a policy without acceptRecordsOfAnyone enforce a release.
func lockedByPolicy(e *kit.Env, h cluster.Helm) {
	e.Helper()
	startDeployment(e, kit.Shared, "helm-locker-policies")
	e.Helm(h, "install", "plain", e.Chart("plain", kit.ConfigMap("plain", "1")))
	made := e.CreatePolicy("plain", "plain", "match: {releases: [plain], namespaces: ["+e.Apps+"]}")
	e.WaitFieldIn(kit.HelmReleases, e.Operator, made, "spec.mode", string(v1alpha1.ModeEnforce))
	e.WaitReady(made, 1)
	e.Patch(kit.ConfigMaps, "plain", `{"data":{"key":"tampered"}}`)
	e.WaitField(kit.ConfigMaps, "plain", "data.key", "1")
}
