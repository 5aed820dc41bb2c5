package kit

import (
	"context"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// FastTime returns a clock on which a hundred times as much time passes as on the wall, until the test ends.
func FastTime(t testing.TB) *clocktesting.FakeClock { return passing(t, 100*time.Millisecond) }

// SteppedTime returns a clock on which as much time passes as on the wall, and as much more as it is stepped by, until
// the test ends.
func SteppedTime(t testing.TB) *clocktesting.FakeClock { return passing(t, time.Millisecond) }

// passing returns a clock that is stepped every millisecond.
func passing(t testing.TB, by time.Duration) *clocktesting.FakeClock {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now())
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				clock.Step(by)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return clock
}
