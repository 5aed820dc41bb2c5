package guard

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// upgrades is the number of upgrades; a leader is killed in each hundred.
var upgrades = flag.Int("upgrades", 12, "how many upgrades TestTrust_UpgradesDuringRestartsStayTrusted makes")

// trustBound bounds the time from a deployed revision to the trust in it.
const trustBound = 5 * time.Second

// disturb restarts replicas until ctx ends: it rolls and drains them in turn, and kills the leader when the number of
// upgrades passes the next of the limits.
func (s *service) disturb(ctx context.Context, done *atomic.Int64) error {
	next := int64(min(50, *upgrades/2))
	for i := 0; ctx.Err() == nil; i++ {
		step := s.roll
		switch {
		case done.Load() >= next:
			step, next = s.kill, next+100
		case i%2 == 1:
			step = s.drain
		}
		if err := step(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		s.each.Store(s.rolled > 0 && s.drained > 0 && s.killed > 0)
	}
	return nil
}

// helm upgrade stays trusted while two replicas are replaced, drained and killed. Only a killed one misses a record,
// while the Service still has its address; that is trusted because Helm has made the objects as declared.
func TestTrust_UpgradesDuringRestartsStayTrusted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.inForce()
	h := s.Cluster.Helm4()
	s.Installed(h, "app", kit.ConfigMap("app", "0"))

	var done atomic.Int64
	ctx, cancel := context.WithCancel(s.Ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.disturb(ctx, &done) }()
	calm := sync.OnceFunc(func() {
		cancel()
		check.Report(t, <-ended)
	})
	defer calm()
	unseen, longest := 0, time.Duration(0)
	for i := 1; i <= *upgrades || !s.each.Load() && !t.Failed(); i++ {
		value, begun := fmt.Sprint(i), time.Now()
		s.Helm(h, "upgrade", "app", s.Chart("app", kit.ConfigMap("app", value)))
		deployed := time.Now()
		s.WaitReady("app", i+1)
		took := time.Since(deployed)
		longest = max(longest, took)
		trust := s.HelmRelease("app").Status.Trust
		check.That(t, trust != nil && trust.State == v1alpha1.TrustStateTrusted && took <= trustBound,
			"after %s, the trust in revision %d is %+v", took, i+1, trust)
		if trust != nil && trust.Reason != v1alpha1.TrustWitnessed {
			unseen++
			check.That(t, s.deadBetween(begun, deployed), "revision %d was not witnessed, and no replica was killed then", i+1)
		}
		s.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered"}}`)
		s.WaitField(kit.ConfigMaps, "app", "data.key", value)
		done.Add(1)
	}
	calm()
	t.Logf("%d upgrades, %d of them not witnessed, in %d rolling restarts, %d drains and %d kills; the longest wait "+
		"for the trust was %s", done.Load(), unseen, s.rolled, s.drained, s.killed, longest)
	check.That(t, unseen <= s.killed, "%d upgrades were not witnessed, and %d leaders were killed", unseen, s.killed)
}

// A record is judged although the operator is told to stop meanwhile.
func TestTrust_AStoppingOperatorAnswersWhatItWasAsked(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.track("app")
	f.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	f.WaitReady("app", 1)
	held := f.Proxy.HoldRequests(cluster.ForPath("/"+release.ObjectName("app", 2), http.MethodGet))
	var storing sync.WaitGroup
	storing.Go(func() {
		f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "changed")})
	})
	f.WaitHeld(held, 1)
	f.StopWhileHeld(f.Running, f.Proxy, held)
	storing.Wait()
	f.startServed(witnessed)
	f.WaitReady("app", 2)
	trust := f.HelmRelease("app").Status.Trust
	check.That(t, trust != nil && trust.Reason == v1alpha1.TrustWitnessed, "the trust is %+v", trust)
}

// A replica is not ready, and so behind no Service, before it has read the certificate of the guard.
func TestI13_AReplicaWithoutTheCertificateIsNotReady(t *testing.T) {
	t.Parallel()
	f := newFixture(t, witnessed)
	f.Until("the leader wrote the certificate", func() (any, bool) {
		_, err := f.Kube.CoreV1().Secrets(f.Operator).Get(f.Ctx, f.Operator+"-guard", metav1.GetOptions{})
		return err, err == nil
	})
	certificate := f.Proxy.HoldRequests(cluster.ForQuery("fieldSelector", f.Operator+"-guard"))
	health, err := process.FreeAddress()
	check.NoError(t, err)
	f.start(witnessed, func(o *operator.ControllerOptions) { o.LeaderElection, o.HealthAddress = true, health })
	f.WaitHeld(certificate, 1)
	f.Until("the replica works", func() (any, bool) { return "", strings.Contains(f.Running.Log(), "managing ") })
	check.That(t, !process.Ready(f.Ctx, health), "a replica that fails each handshake is ready")
	certificate.Release()
	f.Until("the replica is ready", func() (any, bool) { return nil, process.Ready(f.Ctx, health) })
}
