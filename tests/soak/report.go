package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// report collects events and errors. It is safe for concurrent use.
type report struct {
	seed uint64

	mu       sync.Mutex
	counts   map[string]int
	left     map[types.UID]bool // objects that Helm left behind
	calms    []calm
	failures []string
}

// calm is one point in the expected state.
type calm struct {
	life       int           // which process of the operator it was
	settled    time.Duration // how long it took after the load
	goroutines int
	sockets    int
	memory     int64 // resident, without the pages of files
}

// own returns the goroutines without the two of each connection. The number of connections is no sign of growth: each
// concurrent request through the proxy has its own, which stays open for a minute and a half.
func (c calm) own() int { return c.goroutines - 2*c.sockets }

// count counts an event.
func (r *report) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// fail records an error.
func (r *report) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// leftover counts an object left behind by Helm, once.
func (r *report) leftover(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == nil {
		r.left = map[types.UID]bool{}
	}
	r.left[uid] = true
	r.counts["helm: objects that it left behind, which nobody may delete"] = len(r.left)
}

func (r *report) calm(c calm) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calms = append(r.calms, c)
}

// Tolerances between an earlier and a later calm point of a process.
const (
	spareGoroutines = 12
	spareMemory     = 10 << 20
)

// judgeGrowth fails the run if a process of the operator had significantly more goroutines or memory at its last calm
// point than at its first.
func (r *report) judgeGrowth() {
	first := map[int]calm{}
	last := map[int]calm{}
	for _, c := range r.calms {
		if _, seen := first[c.life]; !seen {
			first[c.life] = c
		}
		last[c.life] = c
	}
	for _, life := range slices.Sorted(maps.Keys(first)) {
		a, b := first[life], last[life]
		if b.own() > a.own()+a.own()/10+spareGoroutines {
			r.fail(
				"process %d of the operator went from %d goroutines, those of connections not counted, at its first "+
					"calm point to %d at its last", life, a.own(), b.own(),
			)
		}
		if b.memory > a.memory+a.memory/5+spareMemory {
			r.fail("process %d of the operator went from %.1f MiB at its first calm point to %.1f MiB at its last",
				life, mib(a.memory), mib(b.memory))
		}
	}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (r *report) print(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(w, "\nwhat was done:")
	for _, what := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(w, "  %6d  %s\n", r.counts[what], what)
	}
	fmt.Fprintln(w, "\ncalm points (every object as its manifest says, no more writes):")
	for i, c := range r.calms {
		fmt.Fprintf(w, "  %2d: process %d, after %4.1f s: %d goroutines and those of %d sockets, %.1f MiB\n", i+
			1, c.life, c.settled.Seconds(), c.own(), c.sockets, mib(c.memory))
	}
	if len(r.failures) == 0 {
		_, err := fmt.Fprintf(w,
			"\nno promise was broken, nothing grew, nothing was written at rest (seed %d)\n", r.seed)
		return err
	}
	fmt.Fprintf(w, "\nFAILED (seed %d):\n", r.seed)
	for _, f := range r.failures {
		fmt.Fprintf(w, "  %s\n", f)
	}
	return nil
}
