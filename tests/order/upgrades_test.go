package order

import (
	"flag"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// upgrades is the number of upgrades; a third as many under tampering.
var upgrades = flag.Int("upgrades", 20, "how many upgrades TestI1_UpgradesUnderLock makes")

func TestI1_UpgradesUnderLock(t *testing.T) {
	t.Run("without drift nothing is written", func(t *testing.T) {
		b := newFixture(t)
		b.Upgraded(*upgrades, false)
		if writes := b.writes(); len(writes) > 0 {
			b.Errorf("the operator wrote %d times to the objects of the release, for example %v", len(writes), writes[0])
		}
	})
	t.Run("while somebody tampers no Helm write is undone", func(t *testing.T) {
		b := newFixture(t)
		b.Upgraded(max(1, *upgrades/3), true)
		if len(b.landed()) == 0 {
			b.Error("no drift was reverted, so the test shows nothing")
		}
		b.Logf("%d writes of the operator landed, %d were refused", len(b.landed()), len(b.writes())-len(b.landed()))
	})
}

// Before Kubernetes 1.31 a consistent list reads every Secret of the namespace from etcd: there every check is a fence.
// Since then a check is a list, unless one was made just before.
func TestI1_HowTheRecordIsChecked(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	server, err := b.Kube.Discovery().ServerVersion()
	check.NoError(t, err)
	b.Proxy.Reset()
	if version.MustParseGeneric(server.GitVersion).AtLeast(version.MustParseGeneric("1.31.0")) {
		b.hammered("a list", func(int) bool { return b.lists() > 0 })
		return
	}
	b.hammeredUntilFenced(5)
	lists := b.lists()
	check.That(t, lists <= 0, "Kubernetes %s: %d lists of records", server.GitVersion, lists)
}
