package controller

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

func TestReadingBudget(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var b readingBudget
	if wait := b.wait("a", now); wait != 0 {
		t.Errorf("the first record waits %s", wait)
	}
	b.spend("a", now, readingBurst-time.Second)
	if wait := b.wait("a", now); wait != 0 {
		t.Errorf("a record within the burst waits %s", wait)
	}
	b.spend("a", now, 2*time.Second)
	if wait := b.wait("b", now); wait != 0 {
		t.Errorf("a record of another namespace waits %s", wait)
	}
	wait := b.wait("a", now)
	if want := 4 * time.Second; wait < want || wait > want+time.Second {
		t.Errorf("a record beyond the burst waits %s, want %s", wait, want)
	}
	if again := b.wait("a", now.Add(wait)); again != 0 {
		t.Errorf("and then %s again", again)
	}
	later := now.Add(time.Hour)
	if b.wait("a", later); len(b.spent) != 0 {
		t.Errorf("kept for ever: %v", b.spent)
	}
}

// A clock that is set back neither empties the budget nor stops it.
func TestReadingBudgetWhenTheClockIsSetBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var b readingBudget
	b.spend("a", now.AddDate(1, 0, 0), time.Second)
	if wait := b.wait("a", now); wait != 0 {
		t.Errorf("a record within the burst waits %s", wait)
	}
	b.spend("a", now.AddDate(1, 0, 0), readingBurst)
	wait := b.wait("a", now)
	if wait == 0 || wait > time.Minute {
		t.Errorf("a record beyond the burst waits %s", wait)
	}
	if again := b.wait("a", now.Add(wait)); again != 0 {
		t.Errorf("and then %s again", again)
	}
}

func TestMayReadWaitsForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lo := &loader{common: &common{Options: Options{Clock: clock.RealClock{}}}}
		begin := time.Now()
		lo.budget.spend("a", begin, readingBurst+time.Second)
		if err := lo.mayRead(t.Context(), "a"); err != nil || time.Since(begin) < 4*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		lo.budget.spend("a", time.Now(), time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lo.mayRead(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}

// What cannot be told is asked again less and less often, and at once when the records change.
func TestInsist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logrus.New()
		log.SetOutput(io.Discard)
		pr := &pruning{common: &common{Options: Options{Clock: clock.RealClock{}, Log: log}}}
		l := lock.New(&lock.Lock{Release: release.Key{Namespace: "apps", Name: "app"}}, nil)
		var asked []time.Time
		known := make(chan struct{})
		stay := make(chan bool, 1)
		go func() {
			stay <- pr.awaitAnswer(t.Context(), l, func(context.Context) (bool, error) {
				asked = append(asked, time.Now())
				select {
				case <-known:
					return true, nil
				default:
					return false, errors.New("nobody knows")
				}
			})
		}()
		<-time.After(time.Hour)
		synctest.Wait()
		if n := len(asked); n < 60 || n > 75 {
			t.Errorf("asked %d times within an hour", n)
		}
		before := len(asked)
		pr.changes.happened(release.Key{Namespace: "apps", Name: "another"})
		synctest.Wait()
		if len(asked) != before {
			t.Error("asked because something else has changed")
		}
		close(known)
		pr.changes.happened(l.Release)
		synctest.Wait()
		if len(asked) != before+1 || !<-stay {
			t.Errorf("not asked when the records changed: %d times, before %d", len(asked), before)
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
