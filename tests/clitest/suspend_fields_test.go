package clitest

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A field is suspended for a time, and the rest of its release stays locked.
func TestSuspendOfAField(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Lock("shop")
	const field = "deployment/shop:spec.replicas"
	w.app("suspend", "shop", field).says(1, "fields are suspended for a time: --for or --until is needed")
	w.app("suspend", field, "--for", "1h").says(1, "fields are those of one release: name it before them")
	w.app("suspend", "shop", "deployment/shop:spec.replcas", "--for", "1h").says(1,
		"the release declares no field spec.replcas in deployment/shop\n  did you mean /spec/replicas?")
	w.app("suspend", "shop", "deployment/nosuch:spec.replicas", "--for", "1h").says(1,
		"release APPS/shop declares no deployment/nosuch")
	w.app("resume", "shop", field).says(1, "HelmRelease LOCKER/shop does not suspend "+field)

	w.app("suspend", "shop", field, "--until", "2099-01-02T03:04:05Z", "--reason", "INC-42").is(0,
		"HelmRelease LOCKER/shop: "+field+" suspended until TIME\n", "")
	w.app("status", "shop").says(0, "/spec/replicas, in objects with group apps, kind Deployment, name shop, namespace APPS, "+
		"until TIME, reason: INC-42, by admin")
	w.WaitReady("shop", 1)
	w.Until("the field is left alone", func() (any, bool) {
		hr := w.HelmRelease("shop")
		return hr.Status.Exceptions, len(hr.Status.Exceptions) == 1
	})
	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":7}}`)

	w.app("resume", "shop", field).says(2, "revert spec.replicas 7 -> 2", "nothing was changed")
	w.app("resume", "shop", field, "--yes").says(0, "HelmRelease LOCKER/shop: "+field+" resumed")
	w.WaitField(kit.Deployments, "shop", "spec.replicas", int64(2))
}
