package clitest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/version"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// versions is the output of version -o json.
type versions struct {
	Kind  string
	Items []struct {
		Component, Name, Version string
		Running                  *bool
	}
}

// The operator writes its version to its Lease, and version reads it there.
func TestVersionOfTheOperator(t *testing.T) {
	w := newFixture(t)
	w.cli("version", "--client").says(0, "helm-locker ")
	w.cli("version").says(0, "helm-locker ", "note: no operator helm-locker has run in namespace LOCKER")
	o := kit.StartOperator(t, w.OperatorConfig(), w.Operator, func(o *operator.ControllerOptions) {
		o.LeaderElection = true
	})
	w.installShop(kit.Shared.Helm4(), "shop")
	w.Lock("shop")
	lines := strings.Split(w.cli("version").stdout, "\n")
	want := "operator LOCKER/LOCKER " + version.Version
	check.That(t, len(lines) == 3 && lines[1] == want, "lines are %q, want %q as the second one", lines, want)
	found := w.versions(0)
	check.That(t, len(found.Items) == 2 && found.Items[1].Version == version.Version && *found.Items[1].Running,
		"versions are %+v", found)
	o.Stop()
	found = w.versions(0)
	check.That(t, len(found.Items) == 2 && !*found.Items[1].Running, "versions are %+v", found)
	w.cli("version").says(0, "operator LOCKER/LOCKER "+version.Version+" (it does not run)\n")
	nobody := w.as("nobody")
	nobody.cli("version").says(1, "helm-locker ", `cannot get resource "leases"`)
	found = nobody.versions(1)
	check.That(t, len(found.Items) == 1 && found.Items[0].Component == "client", "versions are %+v", found)
	nobody.kubeconfig = "/nonexistent"
	nobody.cli("version", "--client", "-o", "yaml").says(0, "kind: VersionList")
	nobody.cli("version").says(1, "helm-locker ", "no cluster is configured")
}

// versions runs version -o json.
func (w *fixture) versions(code int) (found versions) {
	w.Helper()
	r := w.cli("version", "-o", "json")
	r.says(code, `"VersionList"`)
	check.NoError(w, json.Unmarshal([]byte(r.raw), &found))
	return found
}
