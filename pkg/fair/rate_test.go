package fair

import (
	"fmt"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// I12: a tenant that acts without end has its rate, and the others have theirs.
func TestRate_EachTenantHasItsOwn(t *testing.T) {
	r, now := NewRate(2, 10, 0), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	allowed := func(name string, times int) (n int) {
		for range times {
			if r.Allow(name, now) {
				n++
			}
		}
		return n
	}
	n := allowed("hostile", 1000)
	check.That(t, n == 10, "%d at once, want the burst", n)
	n = allowed("other", 3)
	check.That(t, n == 3, "another tenant has %d of 3", n)
	now = now.Add(3 * time.Second)
	n = allowed("hostile", 1000)
	check.That(t, n == 6, "%d after three seconds, want two each", n)
	now = now.Add(-time.Hour) // the clock is set back
	n = allowed("hostile", 1000)
	check.That(t, n == 0, "%d when the clock is set back", n)
	now = now.Add(2 * time.Hour)
	for i := range 1000 {
		now = now.Add(time.Second)
		allowed(fmt.Sprint(i), 1)
		r.Use(fmt.Sprint("more ", i), now, 0.01)
	}
	check.That(t, len(r.used) <= 210, "%d tenants are remembered", len(r.used))
}

// A tenant waits for no more than its debt, whatever it has used.
func TestRate_DebtIsBounded(t *testing.T) {
	r, now := NewRate(2, 10, 6), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	r.Use("hostile", now, 1000)
	wait := r.Wait("hostile", now)
	check.That(t, wait >= 3*time.Second && wait <= 3*time.Second+time.Millisecond, "the wait is %s, want three seconds",
		wait)
	wait = r.Wait("hostile", now.Add(4*time.Second))
	check.That(t, wait == 0, "the wait is %s after the debt is paid", wait)
}
