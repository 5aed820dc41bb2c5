package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func elected(o *operator.ControllerOptions) {
	o.LeaderElection, o.LeaseDuration = true, 2*time.Second
}

func TestLeader_StandbyIsWarmAndTakesOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t, elected)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	w.Lock("app")
	standbyProxy := w.NewProxy()
	standby := kit.StartOperator(t, standbyProxy.RESTConfig(), w.Operator, elected)
	w.Until("the standby watches what the release has", func() (any, bool) {
		return "it does not", standbyProxy.Watches(watching("configmaps")) != 0
	})
	for i := range 5 {
		w.Patch(kit.ConfigMaps, "settings", fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, i))
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	}
	w.Delete(kit.ConfigMaps, "settings")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	for _, r := range standbyProxy.Writes() {
		if r.Resource() != "leases" {
			t.Errorf("the standby wrote: %s %s", r, r.Body)
		}
	}

	w.Running.Stop()
	if err := w.Running.Err(); err != nil {
		t.Errorf("the leader ended with %v", err)
	}
	stopped := time.Now()
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered in between"}}`)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	t.Logf("the standby had reverted a drift %s after the leader stopped", time.Since(stopped).Round(time.Millisecond))
	if took := time.Since(stopped); took > 2*time.Second {
		t.Errorf("taking over took %s: the lease was not given up", took)
	}
	w.WaitReady("app", 1)
	w.Reverts("settings", "declared")
	standby.Stop()
	if err := standby.Err(); err != nil {
		t.Errorf("the second leader ended with %v", err)
	}
}

func TestLeader_OperatorOutlivesTheLossOfTheAPIServer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", five))
	w.Lock("app")
	var attempts atomic.Int32
	restore := w.Proxy.Intercept(func(*http.Request) cluster.Action {
		attempts.Add(1)
		return cluster.Drop()
	})
	w.Proxy.CutWatches(nil)
	w.tamperWithFive()
	w.Until("the operator has tried in vain for a while", func() (any, bool) {
		n := attempts.Load()
		return n, n >= 20
	})
	restore()
	w.waitFive()
	w.WaitReady("app", 1)
	chart := w.Chart("app", five+kit.ConfigMap("new", "declared"))
	w.Helm(kit.Shared.Helm3(), "upgrade", "app", chart)
	w.WaitReady("app", 2)
	w.Reverts("new", "declared")
	w.Running.Stop()
	if err := w.Running.Err(); err != nil {
		t.Errorf("the operator ended with %v", err)
	}
}

// A leader that cannot renew its lease must end: another one may lead.
func TestLeader_EndsWhenItLosesItsLease(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	proxy := e.NewProxy()
	done := kit.RunOperator(t, proxy.RESTConfig(), e.Operator, elected)
	e.Eventually("the lease is held", func() error {
		_, err := e.Kube.CoordinationV1().Leases(e.Operator).Get(e.Ctx, e.Operator, metav1.GetOptions{})
		return err
	})
	proxy.Intercept(func(r *http.Request) cluster.Action {
		if cluster.ForResource("leases")(r) {
			return cluster.Drop()
		}
		return cluster.Forward()
	})
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "lost the leader lease") {
			t.Errorf("the operator ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the operator goes on without its lease")
	}
}

// An operator may be told to stop before it has installed its definition, and before it has seen the first HelmRelease.
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
			if err := o.Err(); err != nil {
				t.Errorf("the operator ended with %v", err)
			}
		})
	}
}
