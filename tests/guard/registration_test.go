package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// registration returns the ValidatingWebhookConfiguration of the operator; nil for none.
func (f *fixture) registration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	f.Helper()
	made, err := f.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(f.Ctx,
		f.Operator+"-"+f.Operator+"-guard", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	check.NoError(f, err)
	return made
}

// The registration covers exactly the guarded releases' kinds, is restored when it is edited, and is deleted with the
// last guarded release.
func TestI13_TheRegistrationFollows(t *testing.T) {
	t.Parallel()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "owner-"}}
	e := kit.New(t, kit.Shared)
	role, err := e.Kube.RbacV1().ClusterRoles().Create(e.Ctx, role, metav1.CreateOptions{})
	check.NoError(t, err)
	f := newFixture(t, func(o *operator.ControllerOptions) { o.Guard.Owner = role.Name })
	f.Installed(kit.Shared.Helm3(), "plain", shop)
	check.That(t, f.registration() == nil, "there is a registration, and nothing is guarded")
	f.guarded(kit.Shared.Helm3(), "small", kit.ConfigMap("small", "declared"))
	made := f.registration()
	n := len(made.Webhooks)
	check.That(t,
		n == 1 && len(made.Webhooks[0].Rules) == 2 && made.Webhooks[0].Rules[0].Resources[0] == "configmaps" &&
			made.Webhooks[0].Rules[1].Resources[0] == "configmaps/status", "webhooks %v, want one for ConfigMaps", made.Webhooks)
	check.That(t, len(made.OwnerReferences) == 1 && made.OwnerReferences[0].UID == role.UID, "owners %v",
		made.OwnerReferences)
	version := made.ResourceVersion
	made.Webhooks[0].FailurePolicy = new(admissionregistrationv1.FailurePolicyType)
	*made.Webhooks[0].FailurePolicy = admissionregistrationv1.Fail
	made.Webhooks[0].Rules[0].Resources[0] = "*"
	configurations := f.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err = configurations.Update(f.Ctx, made, metav1.UpdateOptions{})
	check.NoError(t, err)
	f.Until("the edit is undone", func() (any, bool) {
		now := f.registration()
		return now, now != nil && now.ResourceVersion != version &&
			*now.Webhooks[0].FailurePolicy == admissionregistrationv1.Ignore &&
			now.Webhooks[0].Rules[0].Resources[0] == "configmaps"
	})
	check.NoError(t, configurations.Delete(f.Ctx, made.Name, metav1.DeleteOptions{}))
	f.Until("it is there again", func() (any, bool) { return nil, f.registration() != nil })
	f.DeleteHelmRelease("small")
	f.Until("it is gone", func() (any, bool) { return nil, f.registration() == nil })
}

// An operator without a guard removes its earlier registration, because the API server would wait in vain at each
// write. It removes no other: neither another operator's nor another tool's under its own name.
func TestI13_AGuardThatIsTurnedOffIsNotAskedAnyMore(t *testing.T) {
	t.Parallel()
	f, other := newFixture(t), newFixture(t)
	for _, each := range []*fixture{f, other} {
		each.guarded(kit.Shared.Helm3(), "small", kit.ConfigMap("small", "declared"))
		each.Running.Stop()
	}
	off := func(o *operator.ControllerOptions) { o.Guard = operator.GuardOptions{} }
	f.start(off)
	f.Until("the registration is gone", func() (any, bool) { return nil, f.registration() == nil })
	check.That(t, other.registration() != nil, "the registration of another operator is gone")
	f.Running.Stop()
	configurations := f.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	foreign := other.registration()
	foreign.ObjectMeta = metav1.ObjectMeta{Name: f.Operator + "-" + f.Operator + "-guard"}
	for i := range foreign.Webhooks {
		foreign.Webhooks[i].Name = "webhook.of.another.tool"
	}
	_, err := configurations.Create(f.Ctx, foreign, metav1.CreateOptions{})
	check.NoError(t, err)
	f.start(off)
	f.WaitReady("small", 1)
	f.Reverts("small", "declared")
	check.That(t, f.registration() != nil, "the configuration of another tool is gone")
	check.NoError(t, configurations.Delete(f.Ctx, foreign.Name, metav1.DeleteOptions{}))
}

// Clients of the guard learn nothing without its path: an answer would show whether a guess at a value is right.
func TestI13_StrangersLearnNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, path := range []string{"/", "/guard/", "/guard/x", "/validate", "/metrics"} {
		request, err := http.NewRequestWithContext(context.WithoutCancel(f.Ctx), http.MethodPost,
			"https://"+f.front.address()+path, bytes.NewReader([]byte(`{"request":{"uid":"1"}}`)))
		check.NoError(t, err)
		answer, err := client.Do(request)
		check.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		check.NoError(t, err)
		check.NoError(t, answer.Body.Close())
		check.Equal(t, answer.StatusCode, http.StatusNotFound, "%s: %s %s", path, answer.Status, text)
	}
}

// Without --guard-address a HelmRelease reports that its guard is not in force, and its release is locked
// nevertheless.
func TestI13_WithoutAnAddressTheStatusSaysSo(t *testing.T) {
	t.Parallel()
	f := kit.Start(t, func(o *operator.ControllerOptions) { o.SkipCRD = true })
	f.Installed(kit.Shared.Helm3(), "shop", shop,
		func(hr *v1alpha1.HelmRelease) { hr.Spec.Guard = v1alpha1.GuardDeny })
	f.Says("shop", v1alpha1.ConditionGuarded, v1alpha1.ReasonGuardNotServed, "--guard-address")
	f.Patch(kit.ConfigMaps, "settings", changed)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
}
