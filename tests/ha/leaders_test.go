package ha

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A stopping leader releases its lease, so that no replica waits until it expires: that would take five minutes here.
func TestHA_ThreeReplicasStoppedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	var replicas []*replica
	for range 3 {
		replicas = append(replicas, startReplica(e, elected(longLease)))
	}
	locked(e, "app")
	for left := len(replicas); left > 1; left-- {
		for _, r := range replicas {
			if r != nil {
				r.proxy.Reset()
			}
		}
		for i := range 3 {
			reverts(e, "app", "tampered "+strconv.Itoa(i))
		}
		i := leader(e, replicas)
		before := holder(e, e.Operator)
		replicas[i].Stop()
		check.Report(t, replicas[i].Err())
		now := holder(e, e.Operator)
		check.That(t, now != before, "the leader ended and %s still holds the lease", now)
		replicas[i] = nil
	}
	reverts(e, "app", "tampered at last")
	e.WaitReady("app", 1)
}

// The leader is disconnected while one of its reverts is in flight. It ends before its lease does, another one leads,
// Helm upgrades; then the network is restored, and the request in flight arrives.
func TestHA_PartitionedLeaderDoesNotWriteAnyMore(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	proxy := e.NewProxy()
	ended := kit.RunOperator(t, proxy.RESTConfig(), e.Operator, elected(shortLease))
	chart := e.Chart("app", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {key: \"{{ .Values.key }}\"}\n")
	e.Helm(kit.Shared.Helm3(), "install", "app", chart, "--set", "key=one")
	e.Lock("app")
	second := startReplica(e, elected(shortLease))
	e.Until("the second replica watches what the release has", func() (any, bool) {
		return "it does not", second.proxy.Watches(cluster.ForResource("configmaps")) != 0
	})
	history := e.Record(kit.ConfigMaps)

	onTheWay := proxy.HoldRequests(cluster.ForResource("configmaps", http.MethodPatch))
	e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered"}}`)
	e.WaitHeld(onTheWay, 1)
	heal := proxy.Intercept(func(*http.Request) cluster.Action { return cluster.Drop() })
	proxy.CutWatches(nil)
	select {
	case err := <-ended:
		check.That(t, err != nil && strings.Contains(err.Error(), "lost the leader lease"),
			"the partitioned leader ended with %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the partitioned leader goes on")
	}
	e.WaitField(kit.ConfigMaps, "app", "data.key", "one") // by the second, although the first had its hands on it
	e.Helm(kit.Shared.Helm3(), "upgrade", "app", chart, "--set", "key=two")
	heal()
	proxy.Reset()
	onTheWay.Release()
	e.WaitReady("app", 2)
	e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered again"}}`)
	e.WaitField(kit.ConfigMaps, "app", "data.key", "two")
	history.CatchUp()
	values := history.Past("app", "data.key")
	check.That(t, slices.Index(values, "two") >= 0 && !slices.Contains(values[slices.Index(values, "two"):], "one"),
		"the values were %q", values)
	for _, w := range kit.ObjectWrites(proxy) {
		t.Errorf("the old leader wrote: %s", w)
	}
}

// For a moment two replicas may believe to lead. Here two always do.
func TestHA_TwoLeadersAtOnce(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	one, two := startReplica(e), startReplica(e)
	chart := e.Installed(kit.Shared.Helm3(), "app", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {key: \"{{ .Release.Revision }}\"}\n"+
		kit.ConfigMap("fixed", "declared"))
	history := e.Record(kit.ConfigMaps)
	const upgrades = 4
	for revision := 2; revision < 2+upgrades; revision++ {
		// Neither hears of the upgrade in time, and one of them later than the other.
		release := []func(){one.proxy.HoldWatch(cluster.ForResource("secrets")),
			two.proxy.HoldWatch(cluster.ForResource("secrets"))}
		e.Patch(kit.ConfigMaps, "app", fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, revision))
		e.Helm(kit.Shared.Helm3(), "upgrade", "app", chart)
		e.Patch(kit.ConfigMaps, "app", fmt.Sprintf(`{"data":{"key":"tampered after %d"}}`, revision))
		e.Delete(kit.ConfigMaps, "fixed")
		release[revision%2]()
		e.WaitField(kit.ConfigMaps, "app", "data.key", strconv.Itoa(revision))
		release[1-revision%2]()
		e.WaitReady("app", revision)
		reverts(e, "fixed", "tampered")
		e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered"}}`)
		e.WaitField(kit.ConfigMaps, "app", "data.key", strconv.Itoa(revision))
	}
	history.CatchUp()
	newest := 1
	values := history.Past("app", "data.key")
	for _, value := range values {
		revision, err := strconv.Atoi(value)
		if err != nil {
			continue // tampered
		}
		if revision < newest {
			t.Errorf("revision %d came back after %d: %q", revision, newest, values)
		}
		newest = revision
	}
	for i, r := range []*replica{one, two} {
		check.That(t, len(kit.ObjectWrites(r.proxy)) > 0, "operator %d never wrote", i)
	}
}

// A leader that is stopped during a re-creation does not exit before the object is confirmed.
func TestI1_StoppedBetweenACreationAndItsSecondCheck(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	r := startReplica(e)
	e.Installed(kit.Shared.Helm3(), "app",
		kit.ConfigMap("app", "declared")+kit.ConfigMap("base", "declared"))
	answer := r.proxy.HoldAnswers(cluster.ForResource("configmaps", http.MethodPost))
	creation := r.proxy.HoldRequests(cluster.ForResource("configmaps", http.MethodPost))
	e.Delete(kit.ConfigMaps, "app")
	e.WaitHeld(creation, 1)
	e.Helm(kit.Shared.Helm3(), "uninstall", "app")
	creation.Release()
	e.WaitHeld(answer, 1)
	e.StopWhileHeld(r.Operator, r.proxy, answer)
	check.That(t, e.Get(kit.ConfigMaps, "app") == nil, "what Helm uninstalled was created again and stays")
}

// The API server creates an object and the answer is lost. The operator has to read the result of a creation without
// an answer.
func TestI1_CreationWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	const annotated = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, annotations: {helm.sh/resource-policy: %s}}\ndata: {key: declared}\n"
	for policy, stays := range map[string]bool{"delete": false, "keep": true} {
		t.Run(policy, func(t *testing.T) {
			e := kit.New(t, kit.Shared)
			r := startReplica(e)
			e.Installed(kit.Shared.Helm3(), "app",
				fmt.Sprintf(annotated, policy)+kit.ConfigMap("base", "declared"))
			var lost atomic.Int32
			r.proxy.Intercept(func(request *http.Request) cluster.Action {
				if !cluster.ForResource("configmaps", http.MethodPost)(request) {
					return cluster.Forward()
				}
				return cluster.Action{After: func(*http.Response) error {
					lost.Add(1)
					return http.ErrAbortHandler
				}}
			})
			creation := r.proxy.HoldRequests(cluster.ForResource("configmaps", http.MethodPost))
			e.Delete(kit.ConfigMaps, "app")
			e.WaitHeld(creation, 1)
			e.Helm(kit.Shared.Helm3(), "uninstall", "app")
			creation.Release()
			e.Until("the object is created and the answer lost", func() (any, bool) {
				return "it is not", lost.Load() != 0
			})
			if stays {
				r.Stop()
				check.That(t, e.Get(kit.ConfigMaps, "app") != nil, "an object that Helm keeps was deleted")
				return
			}
			e.WaitGone(kit.ConfigMaps, e.Apps, "app")
		})
	}
}
