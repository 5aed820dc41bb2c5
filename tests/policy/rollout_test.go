package policy

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The objects of the tests' releases are missing: their creation is a revert.
const rollout = `{match: {namespaces: [APPS]}, rollout: {batchSize: 2, interval: 3m, drifted: Revert}}`

// enforced returns the HelmReleases in mode Enforce.
func (f *fixture) enforced() []*v1alpha1.HelmRelease {
	f.Helper()
	return slices.DeleteFunc(f.helmReleases(), func(hr *v1alpha1.HelmRelease) bool {
		return hr.Spec.Mode != v1alpha1.ModeEnforce
	})
}

// A rollout moves at most a batch in each interval, through restarts, and reports its progress.
func TestPolicy_Rollout(t *testing.T) {
	t.Parallel()
	fast := withClock(kit.FastTime(t))
	f := &fixture{kit.StartBoth(t, fast)}
	for i := range 5 {
		f.deploy(fmt.Sprintf("r%d", i), nil)
	}
	held := f.Proxy.HoldAnswers(func(r *http.Request) bool {
		return cluster.ForResource("helmreleases", http.MethodPatch)(r) && !isStatus(r)
	})
	history := f.RecordIn(f.Operator, kit.HelmReleases)
	f.create("all", rollout)
	f.WaitHeld(held, 1) // it is killed while a batch moves
	f.StopWhileHeld(f.Running, f.Proxy, held)
	f.Running = kit.StartWithPolicies(t, f.Proxy.RESTConfig(), f.Operator, fast)
	p := f.waitRollout("all", v1alpha1.RolloutComplete)
	check.That(t, p.Status.Rollout.Enforced == 5 && p.Status.Rollout.Waiting == 0, "%+v", p.Status.Rollout)
	history.CatchUp()
	var moves []time.Time
	for i := range 5 {
		states := history.States(kit.HelmReleases, f.name(fmt.Sprintf("r%d", i)))
		if kit.Field(states[0], "spec.mode") != "Detect" {
			t.Errorf("r%d began in mode %v", i, kit.Field(states[0], "spec.mode"))
		}
		since, err := time.Parse(time.RFC3339, states[len(states)-1].GetAnnotations()[v1alpha1.EnforcedSinceAnnotation])
		check.Report(t, err)
		moves = append(moves, since)
	}
	for _, from := range moves {
		n := 0
		for _, m := range moves {
			if !m.Before(from) && m.Before(from.Add(3*time.Minute)) {
				n++
			}
		}
		check.That(t, n <= 2, "%d releases moved within an interval: %v", n, moves)
	}
	f.waitPolicy("all", v1alpha1.ReasonApplied)
}

// A fight in a moved release stops a rollout, and the end of the fight resumes it.
func TestPolicy_RolloutStopsWhenObjectsAreContended(t *testing.T) {
	t.Parallel()
	wall := kit.NewTime(t)
	f := &fixture{kit.StartBoth(t, withClock(wall))}
	f.deploy("r0", nil)
	f.deploy("r1", nil)
	f.deploy("r2", nil)
	f.create("all", rollout)
	f.Until("the first batch", func() (any, bool) { n := len(f.enforced()); return n, n == 2 })
	moved := f.enforced()[0].Spec.Release.Name // those that are ready first
	f.waitLocked(f.name(moved))
	fighting := func() {
		f.Reverts(moved, "1")
	}
	f.Until("there is a fight", func() (any, bool) {
		fighting()
		c := f.Condition(f.name(moved), v1alpha1.ConditionContended)
		return c, c.Status == "True"
	})
	stopped := f.waitPolicy("all", v1alpha1.ReasonRolloutStopped)
	check.Equal(t, stopped.Status.Rollout.State, v1alpha1.RolloutStopped, "%+v", stopped.Status.Rollout)
	n := len(f.enforced())
	check.That(t, n == 2, "%d releases are enforced", n)
	wall.Step(time.Hour) // the fight is over, and it is time for the next batch
	f.waitRollout("all", v1alpha1.RolloutComplete)
}

// waitRollout waits until the rollout of a policy has a state.
func (f *fixture) waitRollout(name string, want v1alpha1.RolloutState) *v1alpha1.HelmReleasePolicy {
	f.Helper()
	var p *v1alpha1.HelmReleasePolicy
	f.Until(fmt.Sprintf("the rollout of %s is %s", name, want), func() (any, bool) {
		p = f.policy(name)
		return p.Status, p.Status.Rollout != nil && p.Status.Rollout.State == want
	})
	return p
}
