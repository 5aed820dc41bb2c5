package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

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

func TestRevertedHelm(t *testing.T) {
	const helm, operator = false, true
	type write struct {
		by   bool
		uid  string
		mark string // "-" for a deletion
		gap  bool
	}
	for _, c := range []struct {
		name       string
		writes     []write
		violations int
	}{
		{"Helm alone", []write{{helm, "a", "m1", false}, {helm, "a", "m2", false}}, 0},
		{"drift put back", []write{{helm, "a", "m1", false}, {helm, "a", "", false}, {operator, "a", "m1", false}}, 0},
		{"Helm reverted", []write{{helm, "a", "m1", false}, {helm, "a", "m2", false}, {operator, "a", "m1", false}}, 1},
		{"a rollback by Helm", []write{{helm, "a", "m1", false}, {helm, "a", "m2", false}, {helm, "a", "m1", false},
			{operator, "a", "m1", false}}, 0},
		{"states were missed", []write{{helm, "a", "m1", false}, {operator, "a", "m2", true},
			{operator, "a", "m2", false}}, 0},
		{"Helm seen again after a gap", []write{{helm, "a", "m1", false}, {helm, "a", "m3", true},
			{operator, "a", "m2", false}}, 1},
		{"created anew", []write{{helm, "a", "m1", false}, {helm, "a", "-", false}, {operator, "b", "m1", false}}, 0},
		{"created from before and taken back", []write{{helm, "a", "m2", false}, {helm, "a", "-", false},
			{operator, "b", "m1", false}, {operator, "b", "-", false}}, 0},
		{"created from before and written over", []write{{helm, "a", "m2", false}, {helm, "a", "-", false},
			{operator, "b", "m1", false}, {helm, "b", "", false}, {helm, "b", "m3", false}}, 0},
		{"created from before and kept", []write{{helm, "a", "m2", false}, {helm, "a", "-", false},
			{operator, "b", "m1", false}, {helm, "b", "", false}, {operator, "b", "m1", false}}, 2},
	} {
		var states []state
		by := map[uint64]string{}
		for i, w := range c.writes {
			states = append(states, state{version: uint64(i), uid: types.UID(w.uid),
				mark: strings.TrimPrefix(w.mark, "-"), deleted: w.mark == "-", gap: w.gap})
			if w.by {
				by[uint64(i)] = "PATCH"
			}
		}
		violations, _ := revertedIn(states, by)
		check.That(t, len(violations) == c.violations, "%s: got %q, want %d", c.name, violations, c.violations)
	}
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
