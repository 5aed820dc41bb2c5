package clitest

import (
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A release in ConfigMaps: the messages of the commands as long as nothing reads those, and all commands once the
// operator and they do.
func TestReleaseInConfigMaps(t *testing.T) {
	w := newFixture(t)
	helm := kit.Shared.Helm4()
	helm.Driver = release.ConfigMaps.String()
	w.installShop(helm, "shop")
	w.app("check").says(0, "note     releases: 1 release in ConfigMaps that no HelmRelease names: APPS/shop\n"+
		"         an operator that runs with --release-storage=secret,configmap (releaseStorage in the chart's values) locks them\n")
	w.app("inspect", "shop").is(5, "", "helm-locker: release APPS/shop does not exist: namespace \"APPS\" has no record of it in a Secret\n"+
		"  its record is in ConfigMap APPS/sh.helm.release.v1.shop.v1: name both with --release-storage=secret,configmap\n")
	w.app("lock", "shop").is(0, "HelmRelease LOCKER/shop created: release APPS/shop, whose record is in ConfigMap "+
		"APPS/sh.helm.release.v1.shop.v1; only an operator with --release-storage=secret,configmap reads it\n", "")
	operatorOf := func(storages string) *kit.Operator {
		return kit.StartOperator(t, w.OperatorConfig(), w.Operator, func(o *operator.ControllerOptions) {
			o.LeaderElection, o.ReleaseStorage = true, storages
		})
	}
	o := operatorOf("")
	w.WaitReason("shop", v1alpha1.ConditionReady, v1alpha1.ReasonRecordNotRead)
	w.app("check").says(2, "error    HelmRelease LOCKER/shop: RecordNotRead: the record of Helm release APPS/shop is in ConfigMap "+
		"APPS/sh.helm.release.v1.shop.v1, and this operator does not read ConfigMaps; run it with --release-storage=secret,configmap")
	o.Stop()

	o = operatorOf("secret,configmap")
	w.env = []string{"HELM_DRIVER=configmap"}
	w.app("inspect", "shop", "--release-storage", "secret,configmap").says(0, "Revision:        1\n")
	w.app("lock", "shop", "--wait").says(0, "done: revision 1 is locked")
	w.app("check").says(0, "ok       HelmReleases: 1 release locked, or watched as wanted\n")
	w.app("status", "shop").says(0, "Locked:       yes, revision 1\n")
	w.app("inspect", "shop").says(0, "Revision:        1\n")
	w.app("diff", "shop").says(0, "no drift, 4 objects compared")
	w.app("report", "shop").says(0, "**1 release, none drifted**")
	o.Stop()
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"}}`)
	w.app("diff", "shop").says(2, "ConfigMap APPS/shop: data[color]")
	w.app("report", "shop").says(2, "data[color]")

	w.Forge(kit.ForgedRecord{Name: "shop", Manifest: kit.ConfigMap("shop", "other")})
	w.app("check").says(2, "warning  releases: 1 release with records in Secrets and in ConfigMaps: APPS/shop\n"+
		"         Helm reads one of the two (HELM_DRIVER): delete the records that it does not use\n")

	w.stdin = w.Kubectl("get", "configmap", "-l", "owner=helm", "-o", "yaml")
	w.kubeconfig = "/does/not/exist"
	w.cli("inspect", "-f", "-").says(0, "Name:            shop\nNamespace:       APPS\nRevision:        1\n")
	w.stdin = " "
	w.cli("inspect", "-f", "-").is(1, "", "helm-locker: standard input is empty; it must hold a record of Helm "+
		"(kubectl get secret NAME -o yaml, or kubectl get configmap NAME -o yaml) or its payload\n")
}
