package shares

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
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
		b := NewBudget(clock.RealClock{})
		for k, took := range test.spent {
			b.Spend(k, now, took)
		}
		wait := b.Wait(key("a", "one"), now)
		check.That(t, wait >= test.want && wait <= test.want+2*time.Millisecond,
			"%s spent: the next record waits %s, want %s", test.name, wait, test.want)
		again := b.Wait(key("a", "one"), now.Add(wait))
		check.That(t, again == 0, "%s spent: and then %s again", test.name, again)
	}
}

// Comparing goes on when all is spent, as drift is reverted. The debt of that has a limit.
func TestBudgetOwesLittle(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := NewBudget(clock.RealClock{})
	for range 3600 {
		b.Spend(release.Key{Namespace: "a", Name: "one"}, now, time.Second)
		now = now.Add(time.Second)
	}
	wait := b.Wait(release.Key{Namespace: "a", Name: "one"}, now)
	check.That(t, wait >= 15*time.Second && wait <= 21*time.Second,
		"after an hour of comparing the next record waits %s", wait)
}

// A clock that is set back neither empties the budget nor stops it.
func TestBudgetWhenTheClockIsSetBack(t *testing.T) {
	now, key := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), release.Key{Namespace: "a", Name: "one"}
	b := NewBudget(clock.RealClock{})
	b.Spend(key, now.AddDate(1, 0, 0), time.Second)
	check.Equal(t, b.Wait(key, now), 0, "a record within the burst waits")
	b.Spend(key, now.AddDate(1, 0, 0), releaseBurst)
	wait := b.Wait(key, now)
	check.That(t, wait != 0 && wait <= time.Minute, "a record beyond the burst waits %s", wait)
	again := b.Wait(key, now.Add(wait))
	check.That(t, again == 0, "and then %s again", again)
}

func TestAwaitWaitsForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := release.Key{Namespace: "a", Name: "one"}
		b := NewBudget(clock.RealClock{})
		begin := time.Now()
		b.Spend(key, begin, releaseBurst+time.Second)
		err := b.Await(t.Context(), key)
		check.That(t, err == nil && time.Since(begin) >= 4*time.Second, "after %s: %v", time.Since(begin), err)
		b.Spend(key, time.Now(), time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = b.Await(ctx, key)
		check.That(t, errors.Is(err, context.DeadlineExceeded), "error is %v", err)
	})
}
