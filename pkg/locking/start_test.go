package locking

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

func TestTheStartBarrierEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lk := New(&Options{Clock: clock.RealClock{}})
		var started atomic.Int32
		lk.start.wait([]string{"a", "b"}, func() { started.Add(1) })
		go lk.startAnyway(t.Context())
		lk.start.done("a")
		<-time.After(startTimeout - time.Second)
		if started.Load() != 0 {
			t.Error("it began without b")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if n := started.Load(); n != 1 {
			t.Errorf("started %d times without b", n)
		}
		lk.start.done("b")
		if n := started.Load(); n != 1 {
			t.Errorf("started %d times", n)
		}
	})
}
