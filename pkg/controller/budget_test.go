package controller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

func TestBudget(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key := func(namespace, name string) release.Key { return release.Key{Namespace: namespace, Name: name} }
	for _, test := range []struct {
		name  string
		spent map[release.Key]time.Duration
		want  time.Duration // that the next record of a/one waits
	}{
		{"nothing", nil, 0},
		{"less than a release may", map[release.Key]time.Duration{key("a", "one"): releaseBurst - 1}, 0},
		{"more than a release may", map[release.Key]time.Duration{key("a", "one"): releaseBurst + time.Second},
			4 * time.Second},
		{"less than a namespace may", map[release.Key]time.Duration{key("a", "two"): namespaceBurst - 1}, 0},
		{"more than a namespace may", map[release.Key]time.Duration{key("a", "two"): namespaceBurst + time.Second},
			4 * time.Second},
		{"another namespace", map[release.Key]time.Duration{key("b", "one"): time.Hour}, 0},
	} {
		b := newBudget()
		for k, took := range test.spent {
			b.spend(k, now, took)
		}
		wait := b.wait(key("a", "one"), now)
		if wait < test.want || wait > test.want+2*time.Millisecond {
			t.Errorf("%s spent: the next record waits %s, want %s", test.name, wait, test.want)
		}
		if again := b.wait(key("a", "one"), now.Add(wait)); again != 0 {
			t.Errorf("%s spent: and then %s again", test.name, again)
		}
	}
}

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
	c := &common{Options: Options{Clock: &slowClock{}}}
	rm := &remediation{common: c, budget: newBudget()}
	l := lock.New(&lock.Lock{Release: release.Key{Namespace: "a", Name: "one"}}, nil)
	rm.judgeAll(l, nil)
	if rm.budget.wait(l.Release, rm.Clock.Now()) == 0 {
		t.Error("after a comparison of ten seconds the next record does not wait")
	}
}

// Comparing goes on when all is spent, as drift is reverted. The debt of that has a limit.
func TestBudgetOwesLittle(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := newBudget()
	for range 3600 {
		b.spend(release.Key{Namespace: "a", Name: "one"}, now, time.Second)
		now = now.Add(time.Second)
	}
	if wait := b.wait(release.Key{Namespace: "a", Name: "one"}, now); wait < 15*time.Second || wait > 21*time.Second {
		t.Errorf("after an hour of comparing the next record waits %s", wait)
	}
}

// A clock that is set back neither empties the budget nor stops it.
func TestBudgetWhenTheClockIsSetBack(t *testing.T) {
	now, key := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), release.Key{Namespace: "a", Name: "one"}
	b := newBudget()
	b.spend(key, now.AddDate(1, 0, 0), time.Second)
	if wait := b.wait(key, now); wait != 0 {
		t.Errorf("a record within the burst waits %s", wait)
	}
	b.spend(key, now.AddDate(1, 0, 0), releaseBurst)
	wait := b.wait(key, now)
	if wait == 0 || wait > time.Minute {
		t.Errorf("a record beyond the burst waits %s", wait)
	}
	if again := b.wait(key, now.Add(wait)); again != 0 {
		t.Errorf("and then %s again", again)
	}
}

func TestMayReadWaitsForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := release.Key{Namespace: "a", Name: "one"}
		lo := &loader{common: &common{Options: Options{Clock: clock.RealClock{}}}, budget: newBudget()}
		begin := time.Now()
		lo.budget.spend(key, begin, releaseBurst+time.Second)
		if err := lo.mayRead(t.Context(), key); err != nil || time.Since(begin) < 4*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		lo.budget.spend(key, time.Now(), time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lo.mayRead(ctx, key); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestTheStartBarrierEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := &releases{common: &common{Options: Options{Clock: clock.RealClock{}}}}
		var started atomic.Int32
		rs.start.wait([]string{"a", "b"}, func() { started.Add(1) })
		go rs.startAnyway(t.Context())
		rs.start.done("a")
		<-time.After(startTimeout - time.Second)
		if started.Load() != 0 {
			t.Error("it began without b")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if n := started.Load(); n != 1 {
			t.Errorf("started %d times without b", n)
		}
		rs.start.done("b")
		if n := started.Load(); n != 1 {
			t.Errorf("started %d times", n)
		}
	})
}
