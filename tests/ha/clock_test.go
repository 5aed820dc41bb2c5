package ha

import (
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// jumpingClock is a clock that is set forward and back. Its timers take their normal time.
type jumpingClock struct {
	clock.RealClock
	offset atomic.Int64
}

func (c *jumpingClock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.offset.Load()))
}

func (c *jumpingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// A fight begins while the clock of the machine is a year ahead. Then it is set right.
func TestHA_ClockIsSetForwardAndBack(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	c := &jumpingClock{}
	startReplica(e, func(o *operator.ControllerOptions) { o.Clock = c })
	locked(e, "app")
	c.offset.Store(int64(365 * 24 * time.Hour))
	for range 22 { // as often as has the next revert wait, for a time that is far away by then
		reverts(e, "app", "tampered")
	}
	for _, jump := range []time.Duration{0, -365 * 24 * time.Hour} {
		c.offset.Store(int64(jump))
		reverts(e, "app", "tampered")
	}
	e.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("app", "declared")})
	e.WaitReady("app", 2)
	reverts(e, "app", "tampered at last")
}
