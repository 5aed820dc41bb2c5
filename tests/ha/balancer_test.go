package ha

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// One API server of three hangs: the one with the operator's connection. client-go closes the connection, and the
// leader renews its lease over another one in time. All three are the tests' own.
func TestHA_AnAPIServerOfThreeHangs(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	server := strings.TrimPrefix(kit.Shared.RESTConfig().Host, "https://")
	b, err := kit.Shared.StartBalancer(server, server, server)
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, b.Close()) })
	config := e.OperatorConfig()
	config.Host = "https://" + b.Address()
	o := kit.StartOperator(t, config, e.Operator, elected(0)) // the default: 15 seconds
	locked(e, "app")
	reverts(e, "app", "tampered")
	before := lease(e, e.Operator)
	n := b.Hang()
	check.Must(t, n != 0 && n != 3, "%d of 3 API servers had connections", n)
	reverts(e, "app", "tampered while the API server hangs")
	after := lease(e, e.Operator)
	check.That(t,
		*before.Spec.HolderIdentity == *after.Spec.HolderIdentity &&
			*before.Spec.LeaseTransitions == *after.Spec.LeaseTransitions, "the lease went from %s to %s",
		*before.Spec.HolderIdentity, *after.Spec.HolderIdentity)
	e.WaitReady("app", 1)
	select {
	case <-o.Done():
		t.Errorf("the operator ended: %v", o.Err())
	default:
	}
}
