package ha

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// inPod makes a container of a Pod out of an operator.
func inPod(uid string) func(*operator.ControllerOptions) {
	return func(o *operator.ControllerOptions) { o.PodUID = uid }
}

// killInPod lets an operator of a Pod lock a release, and ends it without a release of its lease.
func killInPod(e *kit.Env, uid string) {
	e.Helper()
	killed := startReplica(e, elected(longLease), inPod(uid))
	locked(e, "app")
	killed.proxy.On(cluster.ForResource("leases", http.MethodPut), cluster.Drop())
	killed.Stop()
}

// A killed leader leaves its lease held. The next container of its Pod releases it, and leads without waiting for its
// end. A container of another Pod waits.
func TestHA_AKilledContainerIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	killInPod(e, "one")
	before := lease(e, e.Operator)
	check.Must(t, *before.Spec.HolderIdentity != "", "the lease was released")

	other := startReplica(e, elected(longLease), inPod("two"))
	e.Until("the container of another Pod reads the lease twice", func() (any, bool) {
		reads := 0
		for _, r := range other.proxy.Requests() {
			if r.Resource() == "leases" && r.Method == http.MethodGet {
				reads++
			}
		}
		return reads, reads > 1
	})
	now := lease(e, e.Operator)
	check.That(t, *now.Spec.HolderIdentity == *before.Spec.HolderIdentity, "the lease of %s is held by %s",
		*before.Spec.HolderIdentity, *now.Spec.HolderIdentity)
	other.Stop()

	startReplica(e, elected(longLease), inPod("one"))
	reverts(e, "app", "after the restart")
	// The ids of the stream begin with the number of transitions.
	after := lease(e, e.Operator)
	check.That(t, *after.Spec.LeaseTransitions == *before.Spec.LeaseTransitions+1, "%d transitions, then %d",
		*before.Spec.LeaseTransitions, *after.Spec.LeaseTransitions)
}

// Another replica takes over between the read of the predecessor's lease and its release: its leadership stays.
func TestHA_AReleaseThatIsTooLateChangesNothing(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	killInPod(e, "one")

	proxy := e.NewProxy()
	release := proxy.HoldRequests(cluster.ForResource("leases", http.MethodPut))
	again := kit.StartOperator(e, proxy.RESTConfig(), e.Operator, elected(longLease), inPod("one"))
	e.WaitHeld(release, 1)
	taken := lease(e, e.Operator)
	holder, now := "another replica", time.Now()
	taken.Spec.HolderIdentity, taken.Spec.RenewTime.Time = &holder, now
	_, err := e.Kube.CoordinationV1().Leases(e.Operator).Update(e.Ctx, taken, metav1.UpdateOptions{})
	check.NoError(t, err)
	release.Release()
	e.WaitLog(again, "leader is another replica")
	check.Equal(t, *lease(e, e.Operator).Spec.HolderIdentity, holder, "the lease is held by")
}
