package integration

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const sidecar = `{"spec":{"template":{"spec":{"containers":[{"name":"added","image":"example.com/added:1",` +
	`"securityContext":{"privileged":true}}]}}}}`

// Additions of others are no drift in scope Declared, and they are counted: when they are made, after a revert of
// another change, and by an operator that starts after them. Removed ones no longer count. Only the status is
// written, once.
func TestAdditionsThatDeclaredLeavesAloneAreCounted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", scopes)
	count := func(want int) {
		t.Helper()
		w.Until("additions are counted", func() (any, bool) {
			n := w.HelmRelease("app").Status.Objects
			return n, n.Additions == want && n.Drifted == 0
		})
	}
	count(0)
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"added":"x"}}`)
	count(1)
	w.add(addition{gvr: kit.Deployments, object: "web", patch: sidecar})
	count(2)
	c := w.Condition("app", v1alpha1.ConditionDrifted)
	check.That(t,
		c.Reason == v1alpha1.ReasonNoDrift && strings.Contains(c.Message, "2 objects have additions of others"),
		"Drifted is %+v", c)

	w.Reverts("settings", "declared")
	w.records(1)
	count(2)
	w.Quiet(w.Proxy, 2*time.Second)
	w.Running.Stop()
	kit.StartOperator(t, w.Proxy.RESTConfig(), w.Operator)
	w.Reverts("settings", "declared")
	count(2)

	w.Patch(kit.ConfigMaps, "settings", `{"data":{"added":null}}`)
	count(1)
	w.PatchHelmRelease("app", `{"spec":{"scope":"Strict"}}`)
	w.Until("Strict takes the sidecar out", func() (any, bool) {
		web := w.asJSON(w.Get(kit.Deployments, "web"))
		return web, !strings.Contains(web, "example.com/added")
	})
	count(0)
}
