package watch

import (
	"testing"
	"time"

	fakediscovery "k8s.io/client-go/discovery/fake"
	clocktesting "k8s.io/utils/clock/testing"

	clienttesting "k8s.io/client-go/testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A tenant can have a HelmRelease reconciled as often as it likes; that does not reset the shared kinds.
func TestKindsAreDiscoveredAgainOnceInAWhile(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	kinds := NewKinds(&fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}, clock)
	for _, step := range []struct {
		what    string
		after   time.Duration
		defined bool // a definition changes right before
		again   bool
	}{
		{"first", time.Hour, false, true},
		{"at once", time.Millisecond, false, false},
		{"soon", KindSoon - 2*time.Millisecond, false, false},
		{"later", time.Millisecond, false, true},
		{"at once, with a definition", time.Millisecond, true, true},
		{"and at once", time.Millisecond, false, false},
	} {
		clock.Step(step.after)
		if step.defined {
			kinds.DefinitionChanged()
		}
		before := kinds.discoveredAt.Load()
		kinds.Rediscover()
		check.Equal(t, kinds.discoveredAt.Load() != before, step.again, "%s: discovered again", step.what)
	}
}
