package clitest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A deleted record of a locked release is no release that never existed, and no uninstallation.
func TestStatusOfADeletedRecord(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.Helm(kit.Shared.Helm4(), "install", "other", w.Chart("other", kit.ConfigMap("other", "one")))
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Lock("shop")
	w.Lock("other")
	const record = "sh.helm.release.v1.shop.v1"
	check.NoError(t, w.Kube.CoreV1().Secrets(w.Apps).Delete(w.Ctx, record, metav1.DeleteOptions{}))
	w.WaitReason("shop", v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
	const text = "the record of revision 1 of Helm release APPS/shop, Secret APPS/" + record + ", has been deleted"
	w.cli("status", "shop").says(0, text)
	w.app("check").says(0, text)
	w.app("suspend", "shop", "--wait").says(0)
	w.app("resume", "shop").says(0)
	w.WaitReason("shop", v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
	w.cli("status", "shop").says(0, text) // still
	w.Helm(kit.Shared.Helm4(), "uninstall", "other")
	w.WaitReason("other", v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
	w.cli("status", "other").says(0, "no Secret holds a record of Helm release APPS/other")
}
