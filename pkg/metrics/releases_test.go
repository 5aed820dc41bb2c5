package metrics

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAReleaseIsServedAsItWasLastRecorded(t *testing.T) {
	m := New("v1", "abc")
	m.Release(shop, State{Name: "Transitioning", Conditions: map[string]bool{"Ready": false, "Reconciling": true},
		SuspendedSince: time.Unix(1700000000, 0)})
	m.Yielded(shop)
	m.Drift(shop, "Service", "Reverted", time.Second, true)
	m.Drift(shop, "Service", "Refused", time.Second, false)
	m.Release(shop, State{Name: "Deployed", Locked: true,
		Objects:    v1alpha1.ObjectCounts{Tracked: 5, Drifted: 4, Contended: 3, Waiting: 2, Additions: 6, Unmanaged: 1},
		Conditions: map[string]bool{"Ready": true, "Stalled": false}})
	want := `
# HELP helm_locker_condition 1 for a condition of a HelmRelease that is True, 0 for one that is not.
# TYPE helm_locker_condition gauge
helm_locker_condition{release="shop",release_namespace="apps",type="Ready"} 1
helm_locker_condition{release="shop",release_namespace="apps",type="Stalled"} 0
# HELP helm_locker_locked 1 for a release all of whose objects are protected or, in mode Detect, watched.
# TYPE helm_locker_locked gauge
helm_locker_locked{release="shop",release_namespace="apps"} 1
# HELP helm_locker_objects Objects of locked releases, by condition: tracked, drifted, contended, waiting, additions, unmanaged.
# TYPE helm_locker_objects gauge
helm_locker_objects{condition="additions",release="shop",release_namespace="apps"} 6
helm_locker_objects{condition="contended",release="shop",release_namespace="apps"} 3
helm_locker_objects{condition="drifted",release="shop",release_namespace="apps"} 4
helm_locker_objects{condition="tracked",release="shop",release_namespace="apps"} 5
helm_locker_objects{condition="unmanaged",release="shop",release_namespace="apps"} 1
helm_locker_objects{condition="waiting",release="shop",release_namespace="apps"} 2
# HELP helm_locker_release_state 1 for the state that a release is in.
# TYPE helm_locker_release_state gauge
helm_locker_release_state{release="shop",release_namespace="apps",state="Deployed"} 1
# HELP helm_locker_reverts_total Objects of the release that were restored.
# TYPE helm_locker_reverts_total counter
helm_locker_reverts_total{release="shop",release_namespace="apps"} 1
# HELP helm_locker_yields_total Times that drift was left alone because Helm had begun to work.
# TYPE helm_locker_yields_total counter
helm_locker_yields_total{release="shop",release_namespace="apps"} 1
`
	check.Report(t, testutil.CollectAndCompare(m.releases, strings.NewReader(want)))
}

// increase() sees the first event of a counter only if there was a 0 before.
func TestCountersOfAReleaseBeginAtZero(t *testing.T) {
	m := New("v1", "abc")
	m.Release(shop, State{Name: "Deployed", Locked: true})
	want := `
# HELP helm_locker_reverts_total Objects of the release that were restored.
# TYPE helm_locker_reverts_total counter
helm_locker_reverts_total{release="shop",release_namespace="apps"} 0
# HELP helm_locker_yields_total Times that drift was left alone because Helm had begun to work.
# TYPE helm_locker_yields_total counter
helm_locker_yields_total{release="shop",release_namespace="apps"} 0
`
	check.Report(t, testutil.CollectAndCompare(m.releases, strings.NewReader(want), "helm_locker_yields_total",
		"helm_locker_reverts_total"))
}

func TestSuspendedReleases(t *testing.T) {
	m := New("v1", "abc")
	m.Release(shop, State{Name: "Deployed", SuspendedSince: time.Unix(1700000000, 0)})
	want := `
# HELP helm_locker_suspended_since_timestamp_seconds Since when a suspended release is unlocked, in seconds since 1970.
# TYPE helm_locker_suspended_since_timestamp_seconds gauge
helm_locker_suspended_since_timestamp_seconds{release="shop",release_namespace="apps"} 1.7e+09
`
	check.Report(t,
		testutil.CollectAndCompare(m.releases, strings.NewReader(want),
			"helm_locker_suspended_since_timestamp_seconds"))
}

func TestAYieldAloneSaysNothingOfTheState(t *testing.T) {
	m := New("v1", "abc")
	m.Yielded(shop)
	n := testutil.CollectAndCount(m.releases)
	check.That(t, n == 2, "%d samples of a release that only yielded", n)
}

// many returns the metrics of n releases, in two states.
func many(n int) *Metrics {
	m := New("v1", "abc")
	for i := range n {
		key := release.Key{Namespace: fmt.Sprintf("namespace-%d", i%10), Name: fmt.Sprintf("release-%d", i)}
		m.Release(key, State{Name: "Deployed", Locked: true, Objects: v1alpha1.ObjectCounts{Tracked: 25},
			Conditions: map[string]bool{"Ready": i%2 == 0, "Locked": true, "Drifted": false, "Contended": false,
				"Stalled": false, "Reconciling": false}})
	}
	return m
}

// The metrics of a release took 15 KB when each sample was a series of a Prometheus vector.
func TestAReleaseTakesLittleMemory(t *testing.T) {
	const n, limit = 1000, 768
	perRelease := live(func() any { return many(n) }) / n
	t.Logf("%d bytes per release", perRelease)
	check.That(t, perRelease <= limit, "the metrics keep %d bytes of a release, want at most %d", perRelease, limit)
}

// live returns the bytes held by the result of f.
func live(f func() any) int64 {
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // the second one empties what sync.Pool keeps through the first
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	held := f()
	after := heap()
	runtime.KeepAlive(held)
	return after - before
}
