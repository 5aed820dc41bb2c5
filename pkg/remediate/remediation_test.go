package remediate

import (
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/shares"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// slowClock is a clock with ten seconds between any two readings.
type slowClock struct {
	clock.RealClock
	asked time.Duration
}

func (c *slowClock) Now() time.Time {
	c.asked += 10 * time.Second
	return time.Time{}.Add(c.asked)
}

func TestComparingIsCharged(t *testing.T) {
	slow := &slowClock{}
	rm := New(&Options{Clock: slow, Budget: shares.NewBudget(slow)})
	l := lock.New(&lock.Lock{Release: release.Key{Namespace: "a", Name: "one"}}, nil)
	rm.judgeAll(l, nil)
	check.That(t, rm.Budget.Wait(l.Release, rm.Clock.Now()) != 0,
		"after a comparison of ten seconds the next record does not wait")
}
