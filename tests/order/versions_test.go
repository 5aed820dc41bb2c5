package order

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

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
