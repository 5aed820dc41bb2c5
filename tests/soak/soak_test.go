package main

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// TestSoak is the short form: every kind of load and of failure occurs at least once. Its actions are random;
// SOAK_SEED repeats the choices of an earlier run.
func TestSoak(t *testing.T) {
	seed := os.Getenv("SOAK_SEED")
	if seed == "" {
		seed = strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	// Unbuffered, so that the seed is known even after a crash.
	err := run(t.Context(), []string{"-duration", "50s", "-round", "25s", "-releases", "2", "-seed", seed}, os.Stderr,
		os.Stderr)
	check.That(t, err == nil, "%v; the same choices again: SOAK_SEED=%s go test -run '^TestSoak$' ./tests/soak", err, seed)
}

func TestGrowthIsJudgedWithinAProcess(t *testing.T) {
	for _, c := range []struct {
		name  string
		calms []calm
		wrong int
	}{
		{"none", []calm{{life: 1, goroutines: 100, memory: 30 << 20}, {life: 1, goroutines: 105, memory: 35 << 20}}, 0},
		{"between processes", []calm{{life: 1, goroutines: 100, memory: 30 << 20},
			{life: 2, goroutines: 500, memory: 90 << 20}}, 0},
		{"goroutines", []calm{{life: 1, goroutines: 100}, {life: 1, goroutines: 50}, {life: 1, goroutines: 130}}, 1},
		{"connections", []calm{{life: 1, goroutines: 100, sockets: 20}, {life: 1, goroutines: 140, sockets: 40}}, 0},
		{"memory", []calm{{life: 1, memory: 30 << 20}, {life: 1, memory: 50 << 20}}, 1},
		{"both", []calm{{life: 3}, {life: 3, goroutines: 100, memory: 50 << 20}}, 2},
	} {
		r := &report{counts: map[string]int{}, calms: c.calms}
		r.judgeGrowth()
		check.That(t, len(r.failures) == c.wrong, "%s: got %q, want %d", c.name, r.failures, c.wrong)
	}
}
