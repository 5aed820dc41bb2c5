package controller

import (
	"testing"
	"time"

	fakediscovery "k8s.io/client-go/discovery/fake"
	clocktesting "k8s.io/utils/clock/testing"

	clienttesting "k8s.io/client-go/testing"

	"github.com/rancher/helm-locker/pkg/watch"
)

// A tenant can have a HelmRelease reconciled as often as it likes; that does not reset the shared kinds.
func TestKindsAreDiscoveredAgainOnceInAWhile(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	kinds := watch.NewKinds(&fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}})
	rs := &releases{common: &common{Options: Options{Clock: clock}, kinds: kinds}}
	for _, step := range []struct {
		what    string
		after   time.Duration
		defined bool // a definition changes right before
		again   bool
	}{
		{"first", time.Hour, false, true},
		{"at once", time.Millisecond, false, false},
		{"soon", kindSoon - 2*time.Millisecond, false, false},
		{"later", time.Millisecond, false, true},
		{"at once, with a definition", time.Millisecond, true, true},
		{"and at once", time.Millisecond, false, false},
	} {
		clock.Step(step.after)
		if step.defined {
			rs.definitionsAt.Store(clock.Now().UnixNano())
		}
		before := rs.discoveredAt.Load()
		rs.rediscover()
		if again := rs.discoveredAt.Load() != before; again != step.again {
			t.Errorf("%s: discovered again: %v", step.what, again)
		}
	}
}
