package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A manifest that declares the operator's own objects neither ends its leadership nor its other locks: these objects
// are locked by no release, and the status names them. The rest of the release is locked.
func TestOwnObjects_AreNobodysTrackedObjects(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(o *operator.ControllerOptions) { o.LeaderElection, o.LeaseDuration = true, time.Hour })
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	w.Forge(kit.ForgedRecord{Name: "attack", Manifest: fmt.Sprintf(`
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: %[1]s, namespace: %[1]s}
spec: {holderIdentity: attacker, leaseDurationSeconds: 1000000, renewTime: "2100-01-01T00:00:00.000000Z"}
---
apiVersion: v1
kind: Secret
metadata: {name: %[1]s%[2]s, namespace: %[1]s}
stringData: {key: declared}
---
apiVersion: v1
kind: Secret
metadata: {name: %[1]s-settled-0, namespace: %[1]s}
stringData: {key: declared}
---
apiVersion: helm.cattle.io/v1alpha1
kind: HelmRelease
metadata: {name: app, namespace: %[1]s}
spec: {suspend: true, release: {name: app, namespace: %[3]s}}
---
apiVersion: v1
kind: Secret
metadata: {name: sh.helm.release.v1.app.v1, namespace: %[3]s, labels: {status: superseded}}
type: helm.sh/release.v1
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {key: declared}
`, w.Operator, proof.FenceSuffix, w.Apps)})
	w.CreateHelmRelease("attack")
	w.exceptions("attack", "Reserved HelmRelease/app ", fmt.Sprintf("Reserved Lease/%s ", w.Operator),
		"Reserved Secret/sh.helm.release.v1.app.v1 ",
		fmt.Sprintf("Reserved Secret/%s%s ", w.Operator, proof.FenceSuffix),
		fmt.Sprintf("Reserved Secret/%s-settled-0 ", w.Operator))
	w.WaitReady("attack", 1)

	leases := w.Kube.CoordinationV1().Leases(w.Operator)
	first, err := leases.Get(w.Ctx, w.Operator, metav1.GetOptions{})
	check.NoError(t, err)
	w.Eventually("the operator renews its lease, and holds it", func() error {
		lease, err := leases.Get(w.Ctx, w.Operator, metav1.GetOptions{})
		if err != nil || !lease.Spec.RenewTime.After(first.Spec.RenewTime.Time) ||
			*lease.Spec.HolderIdentity != *first.Spec.HolderIdentity {
			return fmt.Errorf("the lease is %v: %w", lease.Spec, err)
		}
		return nil
	})
	check.That(t, !strings.Contains(*first.Spec.HolderIdentity, "attacker"), "the lease is held by %s",
		*first.Spec.HolderIdentity)
	for _, name := range []string{"settings", "other"} {
		w.Reverts(name, "declared")
	}
	hr := w.HelmRelease("app")
	check.That(t, !hr.Spec.Suspend && hr.Status.State == v1alpha1.StateDeployed,
		"the HelmRelease that the manifest declares is %+v", hr.Spec)
	w.WaitReady("app", 1)
}
