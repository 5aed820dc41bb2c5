package kit

import (
	"context"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// FastTime returns a clock on which a hundred times as much time passes as on the wall, until the test ends.
func FastTime(t testing.TB) *clocktesting.FakeClock {
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
				clock.Step(100 * time.Millisecond)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return clock
}
