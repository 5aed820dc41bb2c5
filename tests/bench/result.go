package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// result is everything that a run found out. It is what -json writes.
type result struct {
	Machine  machine       `json:"machine"`
	Sizes    sizes         `json:"sizes"`
	Rows     []row         `json:"rows"`
	Requests []requestNote `json:"requests"`
}

// sizes are the options that the figures depend on.
type sizes struct {
	Rounds    int  `json:"rounds"`
	Deletions int  `json:"deletions"`
	Objects   int  `json:"objects"`
	Releases  int  `json:"releases"`
	Storms    int  `json:"storms"`
	Burst     int  `json:"burst"`
	Unrelated int  `json:"unrelated"`
	Short     bool `json:"short"`
}

// row is one figure of the table.
type row struct {
	Measure string `json:"measure"`
	Unit    string `json:"unit"`
	// Floor and Ratio (operator over floor) are missing where there is no floor.
	Floor    *float64 `json:"floor,omitempty"`
	Operator float64  `json:"operator"`
	Ratio    *float64 `json:"ratio,omitempty"`
	// Target says in words what is wanted; empty for a figure without a target, whose Met is missing too.
	Target string `json:"target,omitempty"`
	Met    *bool  `json:"met,omitempty"`
}

// requestNote says what a measure made the operator ask of the API server.
type requestNote struct {
	Measure string         `json:"measure"`
	Per     string         `json:"per"`
	Counts  map[string]int `json:"counts"`
	Over    int            `json:"over"`
}

func newResult(o options) *result {
	return &result{Machine: thisMachine(), Sizes: sizes{
		Rounds: o.rounds, Deletions: o.deletions, Objects: o.objects, Releases: o.releases,
		Storms: o.storms, Burst: o.burst, Unrelated: o.unrelated, Short: o.short,
	}}
}

func (r *result) end() { r.Machine.LoadAfter = load() }

// plain adds a figure without a floor and returns it.
func (r *result) plain(measure, unit string, value float64) *row {
	r.Rows = append(r.Rows, row{Measure: measure, Unit: unit, Operator: value})
	return &r.Rows[len(r.Rows)-1]
}

// against adds a figure beside the floor's and returns it.
func (r *result) against(measure, unit string, floor, operator float64) *row {
	added := r.plain(measure, unit, operator)
	ratio := operator / floor
	added.Floor = &floor
	if !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
		added.Ratio = &ratio
	}
	return added
}

// want sets the target of a figure and whether it is met.
func (r *row) want(met bool, format string, args ...any) {
	r.Target, r.Met = fmt.Sprintf(format, args...), &met
}

func (r *row) ratioAtMost(limit float64) {
	r.want(r.Ratio != nil && *r.Ratio <= limit, "<= %gx", limit)
}

func (r *row) ratioAtLeast(limit float64) {
	r.want(r.Ratio != nil && *r.Ratio >= limit, ">= %gx", limit)
}

// Targets, as the project set them.
const (
	medianLimit   = 2.0
	p99Limit      = 3.0
	stormLimit    = 0.5
	lockLimit     = 3 * time.Second
	baseMemory    = 64 << 20
	objectMemory  = 4 << 10
	churnLimit    = 5.0  // per cent of a core
	requestsLimit = 2.05 // one list of records and one write; a conflict now and then
	growthLimit   = 3 << 20
	bytesPerMiB   = 1 << 20
)

// latency adds the quantiles of two samples.
func (r *result) latency(name string, floor, operator []time.Duration) {
	for _, q := range []struct {
		name  string
		at    float64
		limit float64
	}{{"median", 0.5, medianLimit}, {"p90", 0.9, 0}, {"p99", 0.99, p99Limit}} {
		added := r.against(name+", "+q.name, "ms", milliseconds(quantile(floor, q.at)), milliseconds(quantile(operator, q.at)))
		if name != "deletion" && q.limit > 0 {
			added.ratioAtMost(q.limit)
		}
	}
}

// storm adds the middle one of the storms of either side.
func (r *result) storm(name string, rates [2][]float64, shares []float64) {
	r.against(name+", throughput", "reverts/s", middle(rates[0]), middle(rates[1])).ratioAtLeast(stormLimit)
	least := 100 * slices.Min(shares)
	r.plain(name+", restored", "%", least).want(least == 100, "100 %%")
}

// requests adds what the operator asked of the API server, divided by n.
func (r *result) requests(name string, counted requests, n int) {
	r.Requests = append(r.Requests, requestNote{Measure: name, Per: counted.per(n), Counts: counted, Over: n})
	if strings.Contains(name, "per release") {
		return
	}
	added := r.plain(name+", requests per revert", "", float64(counted.work())/float64(n))
	if name == "single drift" {
		added.want(added.Operator <= requestsLimit, "1 list + 1 write")
	}
}

func (r *result) locked(name string, took time.Duration) {
	r.plain(name, "s", took.Seconds()).want(took <= lockLimit, "<= %g s", lockLimit.Seconds())
}

func (r *result) writes(name string, n int) {
	r.plain(name, "", float64(n)).want(n == 0, "0")
}

// memory adds what the operator holds when it rests with so many of the objects locked, and what it held at most.
func (r *result) memory(name string, m resident, locked, all int) {
	limit := float64(baseMemory+locked*objectMemory) / bytesPerMiB
	now := float64(m.now) / bytesPerMiB
	r.plain("memory, "+name, "MiB", now).want(now <= limit, "<= %.0f MiB", limit)
	r.plain("memory at most, "+name, "MiB", float64(m.most)/bytesPerMiB)
	if locked == 0 {
		r.plain("memory, of it the program's file, "+name, "MiB", float64(m.program)/bytesPerMiB)
		return
	}
	for _, other := range r.Rows {
		if other.Measure == "memory, nothing locked" {
			r.plain("memory per object, "+name, "KiB", (now-other.Operator)*1024/float64(all))
		}
	}
}

// growth adds what objects of nobody cost in memory.
func (r *result) growth(before, after resident, n int) {
	grown := float64(after.now-before.now) / bytesPerMiB
	r.plain(fmt.Sprintf("memory, growth by %d unrelated", n), "MiB", grown).
		want(grown <= growthLimit/bytesPerMiB, "none (<= %d MiB)", growthLimit/bytesPerMiB)
}

// churn adds the share of a core that the operator takes for so many status updates a second. On a busy machine fewer
// than asked for get through; the share is then that of all those asked for, in proportion.
func (r *result) churn(asked int, achieved, share float64) {
	per := 100 * share * max(1, float64(asked)/achieved)
	r.plain(fmt.Sprintf("processor for %d status updates/s (measured at %.0f)", asked, achieved), "% core", per).
		want(per <= churnLimit, "<= %g %%", churnLimit)
}

// churnDrift adds the share of drifts that were put right while so many status updates a second were asked for.
func (r *result) churnDrift(asked int, achieved, share float64) {
	r.plain(fmt.Sprintf("drift among %d status updates/s (measured at %.0f), restored", asked, achieved), "%", 100*share).
		want(share == 1, "100 %%")
}

func (r *result) missed() bool {
	return slices.ContainsFunc(r.Rows, func(x row) bool { return x.Met != nil && !*x.Met })
}

// print writes the table, what was asked of the API server, and the machine.
func (r *result) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "measure\tfloor\thelm-locker\tunit\tratio\ttarget\t\t")
	for _, x := range r.Rows {
		verdict := ""
		if x.Met != nil {
			verdict = "met"
			if !*x.Met {
				verdict = "MISSED"
			}
		}
		ratio := ""
		if x.Ratio != nil {
			ratio = fmt.Sprintf("%.2fx", *x.Ratio)
		}
		floor := ""
		if x.Floor != nil {
			floor = figure(*x.Floor)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", x.Measure, floor, figure(x.Operator), x.Unit, ratio, x.Target, verdict)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	fmt.Fprintln(w, "\nrequests of the operator (for each revert unless it says otherwise):")
	for _, note := range r.Requests {
		fmt.Fprintf(w, "  %s: %s\n", note.Measure, note.Per)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.Machine)
	return err
}

func figure(v float64) string {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < 1e6:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile returns the smallest value that at least a share q of the sample does not exceed; zero for an empty sample.
func quantile(sample []time.Duration, q float64) time.Duration {
	if len(sample) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(sample))
	return sorted[max(0, min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1))]
}

// middle returns the median of a sample that is not empty, the lower one of two.
func middle(sample []float64) float64 {
	sorted := slices.Sorted(slices.Values(sample))
	return sorted[(len(sorted)-1)/2]
}
