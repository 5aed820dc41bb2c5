package kit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// Time is a clock that runs at a pace and can also be stepped.
type Time struct {
	*clocktesting.FakeClock
	pace atomic.Int32
}

// FastTime returns a clock that runs a hundred times as fast as real time, until the test ends.
func FastTime(t testing.TB) *Time {
	t.Helper()
	clock := NewTime(t)
	clock.Pace(100)
	return clock
}

// NewTime returns a clock that runs in real time, until the test ends.
func NewTime(t testing.TB) *Time {
	t.Helper()
	clock := &Time{FakeClock: clocktesting.NewFakeClock(time.Now())}
	clock.Pace(1)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				clock.Step(time.Duration(clock.pace.Load()) * time.Millisecond)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return clock
}

// Pace has n times as much time pass as on the wall from now on.
func (c *Time) Pace(n int32) { c.pace.Store(n) }
