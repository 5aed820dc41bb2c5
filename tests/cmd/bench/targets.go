package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// Targets, as the project set them.
const (
	medianLimit = 2.1 // times the floor, as the next five
	p99Limit    = 2.2
	deletedP99  = 3.0
	againMedian = 2.6 // one release or one object again and again, or different releases right after one another
	againP99    = 4.0
	stormLimit  = 0.7
	burstLimit  = 0.6

	requestsLimit      = 3.05 // a check (a list of records or a fence), a write, a check; a conflict now and then
	stormRequestsLimit = 1.2
	upgradeChance      = 0.01 // how unlikely it may be by chance that so many upgrades of a locked release took longer
	queueLimit         = 20.0 // drifts: a tenth of what a second brings
	madeLimit          = 0.9  // times the drifts made with the floor at work: a saturated API server is not our queue

	lockLimit     = 3500 * time.Millisecond // of lockObjects
	lockObjects   = 5000
	hugeLimit     = 30 * time.Second // of hugeObjects
	hugeObjects   = 50000
	exponentLimit = 1.05

	baseMemory   = 36 << 20
	objectMemory = 4 << 10
	stormMemory  = 28 << 20 // what remains of storms
	growthLimit  = 3 << 20  // what repeated readings of a process at rest differ by
	bytesPerMiB  = 1 << 20

	churnLimit    = 15.0 // per cent of a core
	gracefulLimit = time.Second
	killLimit     = time.Second // beyond the lease

	guardMedian         = 2 * time.Millisecond // that the guard adds to an allowed write, as the next one
	guardP99            = 5 * time.Millisecond
	guardProcessorLimit = 25.0 // per cent of a core

	trustMedian = 60 * time.Millisecond // that the judgement adds to a record's write
)

// latency adds the quantiles of two samples.
func (s *section) latency(name string, floor, operator []time.Duration) {
	median, p99 := medianLimit, p99Limit
	switch name {
	case deletions:
		p99 = deletedP99
	case oneRelease, oneObject, manyDrifts, manyDeletions:
		median, p99 = againMedian, againP99
	}
	targets := map[string]float64{"median": median, "p99": p99}
	if name == deletions {
		targets = nil
	}
	s.quantiles(name, floor, operator, targets, "median", "p90", "p99")
}

// quantiles adds the named quantiles of two samples, and the targets of their ratios.
func (s *section) quantiles(name string, floor, operator []time.Duration, targets map[string]float64, named ...string) {
	for _, q := range named {
		added := s.against(name+", "+q, "ms", milliseconds(quantile(floor, shares[q])),
			milliseconds(quantile(operator, shares[q])))
		if limit, ok := targets[q]; ok {
			added.ratioAtMost(limit)
		}
	}
}

// shares are the quantiles by their names.
var shares = map[string]float64{"median": 0.5, "p90": 0.9, "p99": 0.99}

// storm adds the median of the storms of either side, and the operator's share of restored objects. A storm over one
// release has a separate target.
func (s *section) storm(name string, limit float64, rates [2][]float64, shares []float64) {
	s.against(name+", throughput", "reverts/s", middle(rates[0]), middle(rates[1])).ratioAtLeast(limit)
	least := 100 * slices.Min(shares)
	s.plain(name+", restored", "%", least).want(least == 100, "100 %%")
}

// requests adds the operator's requests to the API server, divided by n.
func (s *section) requests(name string, counted requests, n int) {
	s.Requests = append(s.Requests, requestNote{Measure: name, Per: counted.per(n)})
	if strings.Contains(name, "per release") {
		return
	}
	per := float64(counted.work()) / float64(n)
	added := s.plain(name+", requests per revert", "", per)
	switch {
	case strings.HasPrefix(name, "storm"):
		added.want(per <= stormRequestsLimit, "<= %g", stormRequestsLimit)
	case name == singleDrift || name == oneRelease || name == oneObject || name == manyDrifts:
		added.want(per <= requestsLimit, "check + write + check")
	}
}

// neighbour adds the latency of single drifts during another tenant's attack; the latency without it is the floor.
func (s *section) neighbour(name string, alone, attacked []time.Duration) {
	targets := map[string]float64{"median": neighbourMedian, "p99": neighbourP99}
	s.quantiles(name, alone, attacked, targets, "median", "p99")
}

// sustained adds the effect of a steady stream of drifts: its real rate, the latency of single drifts, and the growth
// of pending ones. The floor's run is the first of each pair.
func (s *section) sustained(asked int, runs [2]steady) {
	name := fmt.Sprintf("%d drifts/s on one release", asked)
	s.against(name+", drifts made", "1/s", runs[0].rate, runs[1].rate).ratioAtLeast(madeLimit)
	s.quantiles(name, runs[0].lived, runs[1].lived, nil, "median", "p99")
	floor, grown := runs[0].growth(), runs[1].growth()
	queue := s.plain(name+", growth of the queue", "drifts", grown)
	queue.Floor = &floor
	queue.want(grown <= queueLimit, "none (<= %g)", queueLimit)
	share := 100 * runs[1].share
	s.plain(name+", restored", "%", share).want(share == 100, "100 %%")
}

// upgrades adds the duration of Helm's upgrades with and without a lock, and the number of the operator's writes to
// the release during them.
func (s *section) upgrades(helm string, unlocked, locked []time.Duration, between, total int) {
	name := "upgrade by " + helm
	s.quantiles(name, unlocked, locked, nil, "median", "p90")
	slower, pairs := slowerPairs(unlocked, locked)
	chance := chanceOf(slower, pairs)
	s.plain(fmt.Sprintf("%s, longer with a lock in %d of %d pairs: chance of as many", name, slower, pairs), "", chance).
		want(chance >= upgradeChance, ">= %g", upgradeChance)
	s.plain(fmt.Sprintf("%s, %d times: our writes between Helm's first and last", name, len(locked)), "",
		float64(between)).want(between == 0, "0")
	s.plain(fmt.Sprintf("%s, %d times: our writes to the objects at all", name, len(locked)), "",
		float64(total)).want(total == 0, "0")
}

// locked adds the duration of a lock of a number of objects. The target is for a size and grows in proportion, but
// never falls below that of the size.
func (s *section) locked(name string, took time.Duration, objects int) {
	limit := lockLimit
	if objects > lockObjects {
		limit = max(limit, hugeLimit*time.Duration(objects)/hugeObjects)
	}
	s.plain(name, "s", took.Seconds()).want(took <= limit, "<= %g s", limit.Seconds())
}

func (s *section) writes(name string, n int) {
	s.plain(name, "", float64(n)).want(n == 0, "0")
}

// memory adds the operator's memory when idle with a number of objects locked, and its peak. Empty is the memory with
// none, zero when that is the added measure. The figure per object excludes the program's file: its resident pages
// vary by more than the size of a few thousand objects.
func (s *section) memory(name string, m, empty process.Resident, locked int) {
	most := baseMemory + locked*objectMemory
	if name == afterStorms {
		most += stormMemory
	}
	limit := float64(most) / bytesPerMiB
	now := float64(m.Now) / bytesPerMiB
	s.plain("memory, "+name, "MiB", now).want(now <= limit, "<= %.0f MiB", limit)
	s.plain("memory at most, "+name, "MiB", float64(m.Most)/bytesPerMiB)
	if locked == 0 {
		s.plain("memory, of it the program's file, "+name, "MiB", float64(m.Program)/bytesPerMiB)
		return
	}
	s.plain("memory of its own per object, "+name, "KiB", float64(m.Own()-empty.Own())/1024/float64(locked))
}

// growth adds the memory cost of foreign objects. It excludes the program's file: its resident pages vary with other
// load.
func (s *section) growth(by string, before, after process.Resident) {
	grown := float64(after.Own()-before.Own()) / bytesPerMiB
	s.plain("memory of its own, growth by "+by, "MiB", grown).want(grown <= growthLimit/bytesPerMiB,
		"none (<= %d MiB)", growthLimit/bytesPerMiB)
	s.plain("memory, growth by "+by, "MiB", float64(after.Now-before.Now)/bytesPerMiB)
}

// churn adds the operator's share of a core for a number of status updates a second. A busy machine achieves fewer
// than requested; the share is then scaled up to the requested rate.
func (s *section) churn(asked int, achieved, share float64) {
	per := 100 * share * max(1, float64(asked)/achieved)
	s.plain(fmt.Sprintf("processor for %d status updates/s (measured at %.0f)", asked, achieved), "% core", per).
		want(per <= churnLimit, "<= %g %%", churnLimit)
}

// churnDrift adds the share of reverted drifts during a number of requested status updates a second.
func (s *section) churnDrift(asked int, achieved, share float64) {
	s.plain(fmt.Sprintf("drift among %d status updates/s (measured at %.0f), restored", asked, achieved), "%", 100*share).
		want(share == 1, "100 %%")
}

// guard adds the latency of a write without the guard, which is the floor, and with it.
func (s *section) guard(name string, times [2][]time.Duration) {
	if strings.HasPrefix(name, "refused") {
		s.added(name, times)
		return
	}
	s.added(name, times, guardMedian, guardP99)
}

// trust adds the latency of storing a record, with that of any other Secret as the floor.
func (s *section) trust(name string, times [2][]time.Duration) { s.added(name, times, trustMedian) }

// added adds two latencies and their difference, the first of which is the floor: at the median and at the p99. limits
// are the targets of the differences, in this order.
func (s *section) added(name string, times [2][]time.Duration, limits ...time.Duration) {
	for i, q := range []string{"median", "p99"} {
		s.quantiles(name, times[0], times[1], nil, q)
		more := quantile(times[1], shares[q]) - quantile(times[0], shares[q])
		added := s.plain(name+", added at the "+q, "ms", milliseconds(more))
		if i < len(limits) {
			added.want(more <= limits[i], "<= %g ms", milliseconds(limits[i]))
		}
	}
}

// guardProcessor adds the operator's share of a core for a number of allowed writes a second to objects without the
// guard, which is the floor, and with it.
func (s *section) guardProcessor(asked int, achieved float64, shares [2]float64) {
	s.against(fmt.Sprintf("processor for %d allowed writes/s (measured at %.0f)", asked, achieved), "% core",
		100*shares[0], 100*shares[1]).
		want(100*shares[1] <= guardProcessorLimit, "<= %g %%", guardProcessorLimit)
	s.plain(fmt.Sprintf("of it the guard, for %d allowed writes/s", asked), "% core", 100*(shares[1]-shares[0]))
}

// graceful adds the latency of a drift right after the leader's orderly end, in several rounds, and the duration of
// that end. Killed adds the same after a kill: the standby takes over only when the lease has expired.
func (s *section) graceful(lived, ended []time.Duration) {
	worst := slices.Max(lived)
	s.plain("failover, leader told to stop: drift reverted by the standby, median", "ms",
		milliseconds(quantile(lived, 0.5)))
	s.plain("failover, leader told to stop: drift reverted by the standby, worst", "ms", milliseconds(worst)).
		want(worst <= gracefulLimit, "<= %g ms", milliseconds(gracefulLimit))
	s.plain("failover, leader told to stop: until it had ended, worst", "ms", milliseconds(slices.Max(ended)))
}

func (s *section) killed(lived []time.Duration, lease time.Duration) {
	worst, limit := slices.Max(lived), lease+killLimit
	s.plain(fmt.Sprintf("failover, leader killed, lease of %s: drift reverted by the standby, worst", lease), "s",
		worst.Seconds()).
		want(worst <= limit, "<= %g s", limit.Seconds())
}

// scale adds the exponents of time and memory against the number of objects.
func (s *section) scale(points []point, empty process.Resident) {
	s.Points = points
	for _, p := range points {
		name := fmt.Sprintf("%d releases, %d objects", p.Releases, p.Objects)
		s.locked("scale, "+name+": locked in", time.Duration(p.Lock*float64(time.Second)), p.Objects)
		limit := float64(baseMemory+p.Objects*objectMemory) / bytesPerMiB
		s.plain("scale, "+name+": memory", "MiB", p.Memory).want(p.Memory <= limit, "<= %.0f MiB", limit)
		s.plain("scale, "+name+": memory of its own", "MiB", p.Own)
		s.against("scale, "+name+": single drift, median", "ms", p.Floor, p.Drift).ratioAtMost(medianLimit)
	}
	s.exponent("time to lock", points, func(p point) float64 { return p.Lock })
	// Without the program's file: a few MiB of variation would hide the size of thousands of objects.
	base := float64(empty.Own()) / bytesPerMiB
	s.exponent("memory of its own beyond that of none", points, func(p point) float64 { return p.Own - base })
}

// exponent adds the exponent of a growing measure, over all sizes and over the last two: the fixed cost flattens the
// curve at its beginning.
func (s *section) exponent(what string, points []point, of func(point) float64) {
	if len(points) < 2 {
		return
	}
	var x, y []float64
	for _, p := range points {
		x, y = append(x, float64(p.Objects)), append(y, of(p))
	}
	all, last := exponent(x, y), exponent(x[len(x)-2:], y[len(y)-2:])
	s.plain("scale, exponent of "+what+" against objects", "", all).want(all <= exponentLimit, "<= %g", exponentLimit)
	s.plain("scale, exponent of "+what+", largest two sizes", "", last).want(last <= exponentLimit, "<= %g", exponentLimit)
}
