package ha

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	upgrades = flag.Int("upgrades", 6, "how many upgrades each test of TestHA_SeveralAPIServers makes at least")
	seed     = flag.Uint64("seed", 1, "seed of what they choose at random")
)

// servers is three API servers on one etcd behind a balancer. Helm, the tamperers, and the watches of the tests use
// an undisturbed fourth one.
type servers struct {
	all      []*cluster.APIServer
	balancer *cluster.Balancer
	etcd     *cluster.Balancer // the way of the last API server to etcd
}

func startServers(t *testing.T) *servers {
	t.Helper()
	if kit.Shared == nil {
		t.Skip("needs a control plane")
	}
	etcd, err := kit.Shared.StartBalancer(kit.Shared.EtcdAddress())
	check.NoError(t, err)
	w := &servers{etcd: etcd}
	var addresses []string
	for _, address := range []string{kit.Shared.EtcdAddress(), kit.Shared.EtcdAddress(), etcd.Address()} {
		s, err := kit.Shared.AddAPIServer(t.Context(), address)
		check.NoError(t, err)
		t.Cleanup(func() { check.Report(t, s.Kill()) })
		w.all, addresses = append(w.all, s), append(addresses, s.Address())
	}
	w.balancer, err = kit.Shared.StartBalancer(addresses...)
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, w.balancer.Close()) })
	return w
}

// disturbances is how often API servers are disturbed at least in each test: each of three once.
const disturbances = 3

// disturbance does something to API servers, or to the connections to them, until stop is closed, and counts how often.
type disturbance func(e *kit.Env, stop <-chan struct{}, times *atomic.Int32)

// Not parallel: four API servers keep a machine busy.
func TestHA_SeveralAPIServers(t *testing.T) {
	w := startServers(t)
	for _, test := range []struct {
		name    string
		way     func(*kit.Env) *rest.Config
		disturb disturbance
		drift   bool
	}{
		{"killed in turn, no drift", w.direct, w.killInTurn, false},
		{"killed in turn, drift", w.spread, w.killInTurn, true},
		{"connections cut at random, no drift", w.direct, w.cut, false},
		{"connections cut at random, drift", w.direct, w.cut, true},
		{"one far from etcd, no drift", w.spread, w.slow, false},
		{"one far from etcd, drift", w.spread, w.slow, true},
		{"through nginx, no drift", w.throughNginx, undisturbed, false},
		{"through nginx, drift", w.throughNginx, undisturbed, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := kit.New(t, kit.Shared)
			w.upgraded(e, test.way(e), test.disturb, test.drift)
		})
	}
}

// direct is straight to the balancer: all requests and watches share a connection to one API server, until it breaks.
func (w *servers) direct(e *kit.Env) *rest.Config {
	config := e.OperatorConfig()
	config.Host = "https://" + w.balancer.Address()
	return config
}

// spread uses a proxy before the balancer: each request goes to another API server.
func (w *servers) spread(e *kit.Env) *rest.Config {
	return e.NewProxyTo(w.balancer.Address()).RESTConfig()
}

// throughNginx uses nginx: each request goes to another API server, too.
func (w *servers) throughNginx(e *kit.Env) *rest.Config {
	addresses := make([]string, 0, len(w.all))
	for _, s := range w.all {
		addresses = append(addresses, s.Address())
	}
	return startNginx(e, "", addresses...).config()
}

// upgraded upgrades a locked release by Helm repeatedly while API servers are disturbed, optionally under tampering.
// Meanwhile another release is reverted, and at last one more is locked.
func (w *servers) upgraded(e *kit.Env, config *rest.Config, disturb disturbance, drift bool) {
	e.Helper()
	kit.StartOperator(e, config, e.Operator, elected(0)) // the default: 15 seconds
	u := kit.NewUpgrades(e)
	elsewhere := e.At(e.Namespace(e.Apps + "-elsewhere"))
	locked(elsewhere, "other")
	var beside sync.WaitGroup
	var times atomic.Int32
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop); beside.Wait() })
	defer end()
	beside.Go(func() { disturb(e, stop, &times) })
	if drift {
		beside.Go(func() { u.Tamper(stop) })
	}
	began, n := time.Now(), 0
	for ; n < *upgrades || times.Load() < disturbances; n++ {
		check.NoError(e, u.Next())
		reverts(elsewhere, "other", fmt.Sprintf("tampered %d", n))
	}
	old := elsewhere.Get(kit.ConfigMaps, "other").GetUID()
	elsewhere.Delete(kit.ConfigMaps, "other")
	elsewhere.WaitNewObject(kit.ConfigMaps, "other", old)
	locked(elsewhere, "later")
	reverts(elsewhere, "later", "tampered")
	e.Logf("%d upgrades, disturbed %d times, in %s", n, times.Load(), time.Since(began).Round(time.Millisecond))
	end()
	u.Check(drift)
}

// killInTurn kills one API server after the other, and starts it again.
func (w *servers) killInTurn(e *kit.Env, stop <-chan struct{}, times *atomic.Int32) {
	for {
		for _, s := range w.all {
			select {
			case <-stop:
				return
			default:
			}
			check.Report(e, s.Kill())
			check.Report(e, s.Start(e.Ctx))
			times.Add(1)
		}
	}
}

// cut breaks each connection, every now and then, at random.
func (w *servers) cut(_ *kit.Env, stop <-chan struct{}, times *atomic.Int32) {
	random := rand.New(rand.NewPCG(*seed, 0))
	for {
		pause := time.NewTimer(time.Duration(random.IntN(int(time.Second))))
		select {
		case <-stop:
			pause.Stop()
			return
		case <-pause.C:
		}
		times.Add(int32(w.balancer.Cut(func() bool { return random.IntN(2) == 0 })))
	}
}

// slow has one API server hear from etcd late.
func (w *servers) slow(_ *kit.Env, stop <-chan struct{}, times *atomic.Int32) {
	w.etcd.SetDelay(300 * time.Millisecond)
	times.Add(disturbances)
	<-stop
	w.etcd.SetDelay(0)
}

// undisturbed adds no disturbance, for configurations that are disturbance enough.
func undisturbed(_ *kit.Env, stop <-chan struct{}, times *atomic.Int32) {
	times.Add(disturbances)
	<-stop
}
