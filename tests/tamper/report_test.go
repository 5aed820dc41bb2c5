package tamper

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// cell counts the results of the tamperings of one class with one release.
type cell struct {
	// accepted tamperings changed the object; refused ones were answered with 4xx; noChange ones were accepted
	// without an effect; absent are those where the live object lacks the declared value.
	accepted, refused, noChange, absent int
	// good are the accepted ones with the expected result: restored, or not touched.
	good  int
	times []time.Duration
}

func (c *cell) add(other *cell) {
	c.accepted, c.refused = c.accepted+other.accepted, c.refused+other.refused
	c.noChange, c.absent, c.good = c.noChange+other.noChange, c.absent+other.absent, c.good+other.good
	c.times = append(c.times, other.times...)
}

// result contains the results of all tamperings with one release. It is safe for concurrent use.
type result struct {
	chart *chart

	mu    sync.Mutex
	cells map[class]*cell
	// exempt are the tamperings left out because a lock allows them; writes is how many of the operator it took.
	exempt, writes int
	took           time.Duration
	failures       []string
	// baseline is how each object was before the additions, and added how many were made.
	baseline map[*object]*unstructured.Unstructured
	added    map[*object]int
	// hopeless are kinds of tamperings with an unrestored one, by class and path without indexes, in the whole run.
	hopeless *sync.Map
}

func newResult(ch *chart, hopeless *sync.Map) *result {
	return &result{chart: ch, hopeless: hopeless, cells: map[class]*cell{},
		baseline: map[*object]*unstructured.Unstructured{}, added: map[*object]int{}}
}

// in has f change a cell.
func (r *result) in(cl class, f func(*cell)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cells[cl] == nil {
		r.cells[cl] = &cell{}
	}
	f(r.cells[cl])
}

func (r *result) absent(cl class)   { r.in(cl, func(c *cell) { c.absent++ }) }
func (r *result) noChange(cl class) { r.in(cl, func(c *cell) { c.noChange++ }) }
func (r *result) refused(cl class)  { r.in(cl, func(c *cell) { c.refused++ }) }

func (r *result) exempted(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exempt += n
}

// begin records how an object is before the additions.
func (r *result) begin(o *object, before *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.baseline[o] = before
}

func (r *result) countAdded(o *object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added[o]++
}

// leave records n tamperings that must not be touched; they were not if the object has no difference.
func (r *result) leave(cl class, n int, differs string) {
	r.in(cl, func(c *cell) {
		c.accepted += n
		if differs == "" {
			c.good += n
		}
	})
}

// settle records an accepted tampering, and its remaining differences.
func (r *result) settle(o *object, m mutation, took time.Duration, remains string) {
	r.in(m.class, func(c *cell) {
		c.accepted++
		if remains == "" {
			c.good++
			c.times = append(c.times, took)
			return
		}
		r.failures = append(r.failures, fmt.Sprintf("%s: %s: %s: not restored in time: %s", o, m.class, m.what, remains))
	})
}

// report holds the results of all releases.
type report struct {
	results  []*result
	hopeless sync.Map
}

// print logs the tables, and writes them to the file named by -table.
func (r *report) print(t *testing.T) {
	t.Helper()
	if len(r.results) == 0 {
		return
	}
	t.Logf("\n%s", r)
	if *table != "" {
		check.Report(t, os.WriteFile(*table, []byte(r.String()), 0o600))
	}
}

// String returns the tables as Markdown; times are in milliseconds.
func (r *report) String() string {
	var b strings.Builder
	sum := func(pick func(*result, class) bool) *cell {
		total := &cell{}
		for _, x := range r.results {
			for _, cl := range classes() {
				if c := x.cells[cl]; c != nil && pick(x, cl) {
					total.add(c)
				}
			}
		}
		return total
	}
	b.WriteString(
		"| class | accepted | as it should be | median ms | p99 ms | slowest ms | refused | no change | absent |\n",
	)
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, cl := range classes() {
		b.WriteString(row(string(cl), sum(func(_ *result, other class) bool { return other == cl })))
	}
	b.WriteString(row("**all**", sum(func(*result, class) bool { return true })))

	b.WriteString(
		"\n| chart | Helm | objects | accepted | as it should be | median ms | p99 ms | slowest ms | refused | no change | absent | exempt | writes | seconds |\n",
	)
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, x := range r.results {
		c := sum(func(other *result, _ class) bool { return other == x })
		fmt.Fprintf(&b, "| %s | %d | %d %s %d | %d | %.0f |\n", x.chart.name, x.chart.version, len(x.chart.objects),
			strings.TrimSuffix(row("", c)[len("| "):], " |\n")+" |", x.exempt, x.writes, x.took.Seconds())
	}
	return b.String()
}

func row(name string, c *cell) string {
	times := "| | |"
	if len(c.times) > 0 {
		slices.Sort(c.times)
		n := len(c.times)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		times = fmt.Sprintf("| %.1f | %.1f | %.1f", ms(c.times[n/2]), ms(c.times[(99*n+99)/100-1]), ms(c.times[n-1]))
	}
	return fmt.Sprintf("| %s | %d | %d %s | %d | %d | %d |\n", name, c.accepted, c.good, times, c.refused, c.noChange,
		c.absent)
}
