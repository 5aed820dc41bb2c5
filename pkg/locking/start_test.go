package locking

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestTheStartBarrierEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lk := New(&Options{Clock: clock.RealClock{}})
		var started atomic.Int32
		lk.start.wait([]string{"a", "b"}, func() { started.Add(1) })
		go lk.startAnyway(t.Context())
		lk.start.done("a")
		<-time.After(startTimeout - time.Second)
		check.Equal(t, started.Load(), 0, "it began without b")
		<-time.After(2 * time.Second)
		synctest.Wait()
		n := started.Load()
		check.That(t, n == 1, "started %d times without b", n)
		lk.start.done("b")
		n = started.Load()
		check.That(t, n == 1, "started %d times", n)
	})
}
