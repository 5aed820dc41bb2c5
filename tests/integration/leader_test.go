package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// elected makes operators compete for a lease. Unless the leader gives it up, no other one leads within a test.
func elected(o *operator.ControllerOptions) {
	o.LeaderElection, o.LeaseDuration = true, time.Hour
}

func TestLeader_StandbyIsWarmAndTakesOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t, elected)
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	standbyProxy := w.NewProxy()
	standby := kit.StartOperator(t, standbyProxy.RESTConfig(), w.Operator, elected)
	w.Until("the standby watches what the release has", func() (any, bool) {
		return "it does not", standbyProxy.Watches(cluster.WatchOf("configmaps")) != 0
	})
	// The first judgement of an object may take a dry run.
	w.WaitLog(standby, "state=InSync")
	for i := range 5 {
		w.Patch(kit.ConfigMaps, "settings", fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, i))
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	}
	w.Delete(kit.ConfigMaps, "settings")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	for _, r := range standbyProxy.Writes() {
		check.Equal(t, r.Resource(), "leases", "the standby wrote: %s %s", r, r.Body)
	}

	w.Running.Stop()
	check.Report(t, w.Running.Err())
	stopped := time.Now()
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered in between"}}`)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	t.Logf("the standby had reverted a drift %s after the leader stopped", time.Since(stopped).Round(time.Millisecond))
	w.WaitReady("app", 1)
	w.Reverts("settings", "declared")
	standby.Stop()
	check.Report(t, standby.Err())
}

// A stop may arrive before the operator has installed its definition, and before it has seen the first HelmRelease.
func TestStop_WhileTheAPIServerDoesNotAnswerYet(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"customresourcedefinitions", "helmreleases"} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			e := kit.New(t, kit.Shared)
			proxy := e.NewProxy()
			asked := make(chan struct{}, 1)
			defer proxy.Intercept(func(r *http.Request) cluster.Action {
				// The health of the API server is not known either.
				if r.URL.Path != "/version" && !slices.Contains(strings.Split(r.URL.Path, "/"), resource) {
					return cluster.Forward()
				}
				if r.URL.Path != "/version" || resource == "helmreleases" {
					select {
					case asked <- struct{}{}:
					default:
					}
				}
				return cluster.Drop()
			})()
			o := kit.StartOperator(t, proxy.RESTConfig(), e.Operator,
				func(o *operator.ControllerOptions) { o.SkipCRD = resource == "helmreleases" })
			select {
			case <-asked:
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			}
			o.Stop()
			check.Report(t, o.Err())
		})
	}
}
