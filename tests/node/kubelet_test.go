//go:build linux

package node

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// gone is how long kubelet is stopped: longer than the controller manager waits before the node is not Ready, and its
// Pods leave the Services.
const gone = 2 * time.Minute

// Kubelet is stopped for minutes, and the Pods are not Ready for the API server. They still run, and so every change is
// denied, by a connection of the API server that is open, or reverted.
func TestNode_KubeletIsStoppedForMinutes(t *testing.T) {
	f := newFixture(t)
	f.guarded()
	f.denies()
	leader := f.leader()
	requests := f.begin()
	begun := time.Now()
	check.NoError(t, shared.StopKubelet())
	start := sync.OnceFunc(func() {
		check.NoError(t, shared.StartKubelet(f.Ctx))
		check.NoError(t, shared.WaitReady(f.Ctx))
	})
	t.Cleanup(start)
	var before int
	f.within(gone, "the operator's Pod is not Ready", func() error {
		for _, c := range f.pods(leader.Name)[0].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue {
				denied, admitted := requests.seen()
				before = denied + admitted
				return nil
			}
		}
		return fmt.Errorf("it is")
	})
	f.within(gone+patience, "changes are denied or reverted for a while", func() error {
		denied, admitted := requests.seen()
		if denied+admitted < before+100 || time.Since(begun) < gone {
			return fmt.Errorf("%d were denied, and %d admitted", denied, admitted)
		}
		return nil
	})
	start()
	f.denies()
	requests.expect(t, slack)
	f.expectConfined("helm-locker", "helm-locker-policies")
	now := f.leader()
	check.That(t, now.Name == leader.Name, "%s leads in place of %s", now.Name, leader.Name)
}
