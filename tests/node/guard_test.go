//go:build linux

package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	lib "github.com/rancher/helm-locker/tests/lib/node"
)

// lease is the chart's duration of a lease, with the time that the next leader takes to notice its end.
const lease = 15*time.Second + 5*time.Second

// guarded installs the chart with the guard, and locks the release shop by it.
func (f *fixture) guarded(values ...string) {
	f.Helper()
	h := shared.Cluster.Helm4()
	f.install(h, append([]string{"guard: {enabled: true}"}, values...)...)
	f.upgradeTo(h, declared)
	f.CreateHelmRelease("shop", func(hr *v1alpha1.HelmRelease) { hr.Spec.Guard = v1alpha1.GuardDeny })
	f.WaitReady("shop", 0)
	f.WaitReason("shop", v1alpha1.ConditionGuarded, v1alpha1.ReasonGuarded)
}

// tamper returns the API server's answer to a change of the ConfigMap shop.
func (f *fixture) tamper() error {
	_, err := f.In(kit.ConfigMaps, f.Apps).Patch(f.Ctx, "shop", types.MergePatchType,
		[]byte(`{"data":{"key":"tampered"}}`), metav1.PatchOptions{FieldManager: kit.Tamperer})
	return err
}

// denies waits until the guard denies a change.
func (f *fixture) denies() {
	f.Helper()
	f.within(patience, "the guard denies", func() error {
		err := f.tamper()
		if err == nil {
			return fmt.Errorf("the change was admitted")
		}
		if !strings.Contains(err.Error(), "which is locked") {
			return err
		}
		return nil
	})
}

// The API server reaches the guard through its Service: people are denied, Helm is not. The leader is killed while
// requests run: they pass in time, and there is a leader again long before the lease expires: the restarted container
// releases it.
func TestNode_TheGuardThroughItsService(t *testing.T) {
	// The kubelet delays the second restart of a container, so the only replica is killed once.
	for replicas := 1; replicas <= 2; replicas++ {
		t.Run(fmt.Sprintf("replicas=%d", replicas), func(t *testing.T) {
			f := newFixture(t)
			f.guarded(fmt.Sprintf("replicas: %d\nleaseDuration: 1h", replicas))
			f.denies()
			for i := range 5 {
				f.upgradeTo(shared.Cluster.Helm3(), fmt.Sprintf("three-%d", i))
				f.upgradeTo(shared.Cluster.Helm4(), fmt.Sprintf("four-%d", i))
			}
			f.WaitReady("shop", 11)
			f.denies()

			requests := f.begin()
			for range replicas {
				f.killLeader()
				f.restored("four-4")
			}
			denied, _ := requests.seen()
			f.within(patience, "changes are denied again", func() error {
				if now, _ := requests.seen(); now < denied+10 {
					return fmt.Errorf("%d were denied", now-denied)
				}
				return nil
			})
			requests.expect(t, lease)
		})
	}
}

// Two replicas stand behind one Service, and the API server asks the leader alone by the other one: each revert names
// its user, also after the leader was killed.
func TestNode_TheGuardNamesEachUser(t *testing.T) {
	f := newFixture(t)
	f.guarded("replicas: 2\nleaseDuration: 1h")
	f.PatchHelmRelease("shop", `{"spec":{"guard":"Observe"}}`)
	f.namesEach("first")
	f.killLeader()
	f.namesEach("second")
}

// namesEach waits until the revert of a user's change names the user, and checks that the next ten do.
func (f *fixture) namesEach(user string) {
	f.Helper()
	f.within(patience, "the leader is asked", func() error { return f.named(user) })
	for i := range 10 {
		check.NoError(f, f.named(fmt.Sprintf("%s-%d", user, i)))
	}
}

// named changes the ConfigMap shop as a user, and returns an error unless its revert names the user.
func (f *fixture) named(user string) error {
	f.Helper()
	f.Kubectl("--as", user, "--as-group", "system:masters", "-n", f.Apps, "patch", "configmap", "shop", "-p",
		fmt.Sprintf(`{"data":{"key":%q}}`, "of "+user))
	f.WaitField(kit.ConfigMaps, "shop", "data.key", declared)
	var users []string
	f.Until("the revert is reported", func() (any, bool) {
		users = nil
		recent := f.HelmRelease("shop").Status.RecentDrift
		for i := range recent {
			users = append(users, recent[i].User)
		}
		return users, len(users) > 0 && (users[0] == user || users[0] == "")
	})
	if users[0] != user {
		return fmt.Errorf("the revert of a change by %s names %q", user, users[0])
	}
	return nil
}

// killLeader kills the leading operator, and waits until another process leads and the killed container is Ready again.
func (f *fixture) killLeader() {
	f.Helper()
	leader := f.leader()
	before, _ := f.restarts(leader.Name)
	killed, begun := f.holder(), time.Now()
	check.NoError(f, shared.Kill(f.Ctx, leader.Status.ContainerStatuses[0].ContainerID))
	f.within(patience, "another process leads", func() error {
		if next := f.holder(); next == killed || next == "" {
			return fmt.Errorf("%q leads", next)
		}
		return nil
	})
	f.Logf("another process leads after %s", time.Since(begun).Round(time.Millisecond))
	f.within(patience, "the killed operator is Ready again", func() error {
		if count, ready := f.restarts(leader.Name); count == before || !ready {
			return fmt.Errorf("%d restarts, Ready: %v", count, ready)
		}
		return nil
	})
}

// The only operator is evicted: the node is drained. Writes pass, and what was changed meanwhile is reverted.
func TestNode_TheNodeIsDrained(t *testing.T) {
	f := newFixture(t)
	f.guarded()
	f.denies()
	f.Kubectl("cordon", lib.Name)
	t.Cleanup(f.uncordon)
	requests := f.begin()
	f.Kubectl("drain", lib.Name, "--ignore-daemonsets", "--timeout=2m", "--pod-selector=release=helm-locker")
	f.within(patience, "a change is admitted", func() error {
		if _, admitted := requests.seen(); admitted == 0 && f.tamper() != nil {
			return fmt.Errorf("none was")
		}
		return nil
	})
	requests.end()
	check.That(t, requests.slowest <= late+slack && len(requests.errs) == 0, "the slowest write took %s; errors: %v",
		requests.slowest, requests.errs)
	check.Report(t, f.tamper())
	f.uncordon()
	f.WaitField(kit.ConfigMaps, "shop", "data.key", declared)
	f.denies()
}

// uncordon has the node accept Pods again, also at the end of a test.
func (f *fixture) uncordon() {
	f.Helper()
	_, err := f.Kube.CoreV1().Nodes().Patch(context.WithoutCancel(f.Ctx), lib.Name, types.MergePatchType,
		[]byte(`{"spec":{"unschedulable":null}}`), metav1.PatchOptions{})
	check.NoError(f, err)
}
