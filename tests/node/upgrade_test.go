//go:build linux

package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// rolling is the longest life of drift while a leader ends that releases its lease.
const rolling = time.Second + slack

// The chart is upgraded from an earlier commit, and rolled back by Helm, under tampering and upgrades of the locked
// release: no drift lives longer than a lease, and no write of Helm's is undone. That commit has no witnesses of
// records. With the default of trust.records a release with drift would need `helm-locker accept` then.
func TestNode_TheChartIsUpgradedFromAnEarlierCommit(t *testing.T) {
	if shared != nil && shared.EarlierChart == "" {
		t.Skip("this checkout has no earlier commit")
	}
	f := newFixture(t)
	h := shared.Cluster.Helm3()
	f.installChart(h, shared.EarlierChart)
	f.upgradeTo(h, declared)
	f.Lock("shop")
	requests := f.begin()
	const trusting = "trust: {records: Any}"
	for _, change := range []func(){
		func() { f.install(h, trusting) },
		func() { f.rollback(h) },
		func() { f.install(h, trusting) },
	} {
		f.upgradeWhile(h, change)
	}
	requests.expect(t, lease)
}

// Two replicas, each replaced by a new one: the leader releases its lease, so drift lives for a moment only.
func TestNode_ARollingRestart(t *testing.T) {
	f := newFixture(t)
	h := shared.Cluster.Helm3() // Helm 4 refuses to upgrade an object that is drifted at that moment
	f.install(h, "replicas: 2")
	f.upgradeTo(h, declared)
	f.Lock("shop")
	requests := f.begin()
	for i := range 2 {
		f.upgradeWhile(h, func() {
			f.install(h, "replicas: 2", fmt.Sprintf("podAnnotations: {restart: %q}", fmt.Sprint(i)))
		})
	}
	requests.expect(t, rolling)
}

// rollback takes the chart of the operator back to its revision before.
func (f *fixture) rollback(h cluster.Helm) {
	f.Helper()
	_, err := h.Run(f.Ctx, "rollback", "helm-locker", "--namespace", f.Operator, "--wait", "--timeout", "3m")
	check.NoError(f, err)
}

// upgradeWhile upgrades the locked release again and again, until a change is made.
func (f *fixture) upgradeWhile(h cluster.Helm, change func()) {
	f.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		change()
	}()
	for i := 0; ; i++ {
		f.upgradeTo(h, fmt.Sprintf("upgraded-%d", i))
		select {
		case <-done:
			return
		default:
		}
	}
}
