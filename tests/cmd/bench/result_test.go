package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/process"
)

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i) // 100 ... 1: the order does not matter
	}
	for _, c := range []struct {
		name   string
		sample []time.Duration
		q      float64
		want   time.Duration
	}{
		{"median of a hundred", hundred, 0.5, 50},
		{"p99 of a hundred leaves one out", hundred, 0.99, 99},
		{"everything", hundred, 1, 100},
		{"nothing", hundred, 0, 1},
		{"one", hundred[:1], 0.99, 100},
		{"none", nil, 0.5, 0},
	} {
		check.Equal(t, quantile(c.sample, c.q), c.want, "%v", c.name)
	}
}

const auditLog = `{"stage":"ResponseComplete","verb":"list","userAgent":"helm-locker/v1","requestURI":"/x","objectRef":{"resource":"secrets"}}
{"stage":"ResponseComplete","verb":"patch","userAgent":"helm-locker/v1","requestURI":"/x","objectRef":{"resource":"deployments","apiGroup":"apps"}}
{"stage":"ResponseComplete","verb":"patch","userAgent":"helm-locker/v1","requestURI":"/x?dryRun=All","objectRef":{"resource":"configmaps"}}
{"stage":"ResponseComplete","verb":"patch","userAgent":"helm-locker/v1","requestURI":"/x","objectRef":{"resource":"helmreleases","apiGroup":"helm.cattle.io","subresource":"status"}}
{"stage":"ResponseComplete","verb":"watch","userAgent":"helm-locker/v1","requestURI":"/x","objectRef":{"resource":"configmaps"}}
{"stage":"ResponseStarted","verb":"list","userAgent":"helm-locker/v1","requestURI":"/x","objectRef":{"resource":"secrets"}}
{"stage":"ResponseComplete","verb":"patch","userAgent":"bench-floor","requestURI":"/x","objectRef":{"resource":"configmaps"}}
{"stage":"ResponseComplete","verb":"get","userAgent":"helm-locker/v1","requestURI":"/api?timeout=30s"}
{"stage":"ResponseComplete","verb":"list","userAgent":"helm-loc`

func TestRequestsAreCountedByWhoMadeThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	check.NoError(t, os.WriteFile(path, []byte(auditLog), 0o600))
	counted, err := audit{path}.since(0, agentOperator)
	check.NoError(t, err)
	want := "1.00 get /api, 1.00 list secrets, 1.00 patch configmaps (dry run), 1.00 patch deployments.apps; " +
		"apart: 1.00 patch helmreleases.helm.cattle.io/status"
	got := counted.per(1)
	check.That(t, got == want, "got  %s\nwant %s", got, want)
	if counted.work() != 4 || counted.writes() != 1 {
		t.Errorf("got %d requests and %d writes, want 4 and 1 (a dry run is no write)", counted.work(), counted.writes())
	}
}

func TestTargets(t *testing.T) {
	ms := func(n int) []time.Duration { return []time.Duration{time.Duration(n) * time.Millisecond} }
	single := func(name string, times int) func(*section) {
		return func(s *section) { s.latency(name, ms(10), ms(times)) }
	}
	storm := func(rate, least float64) func(*section) {
		return func(s *section) { s.storm("storm", stormLimit, [2][]float64{{100}, {rate}}, []float64{1, least}) }
	}
	asked := func(name string, lists int) func(*section) {
		return func(s *section) { s.requests(name, requests{"list secrets": lists, "patch configmaps": 10}, 10) }
	}
	locked := func(seconds float64, objects int) func(*section) {
		return func(s *section) { s.locked("lock", time.Duration(seconds*float64(time.Second)), objects) }
	}
	holds := func(mib int64) process.Resident { return process.Resident{Now: mib << 20} }
	upgraded := func(slower, between, total int) func(*section) { // slower is how many of 30 took longer with a lock
		locked := slices.Concat(slices.Repeat(ms(101), slower), slices.Repeat(ms(99), 30-slower))
		return func(s *section) { s.upgrades("Helm", slices.Repeat(ms(100), 30), locked, between, total) }
	}
	queue := func(lengths ...int) func(*section) {
		return func(s *section) {
			s.sustained(200, [2]steady{{rate: 9, share: 1}, {rate: 9, share: 1, queue: lengths}})
		}
	}
	guarded := func(name string, with int) func(*section) {
		return func(s *section) { s.guard(name, [2][]time.Duration{ms(10), ms(with)}) }
	}
	judged := func(with int) func(*section) {
		return func(s *section) { s.trust(trustName, [2][]time.Duration{ms(10), ms(with)}) }
	}
	guardTakes := func(share float64) func(*section) {
		return func(s *section) { s.guardProcessor(guardRate, guardRate, [2]float64{0.1, share / 100}) }
	}
	for _, c := range []struct {
		name        string
		met, missed func(*section)
	}{
		{"the floor", single(singleDrift, 21), single(singleDrift, 22)},
		{"again and again", single(oneObject, 25), single(oneRelease, 27)},
		{"no floor, but of deletions", single(deletions, 700),
			func(s *section) { s.latency(singleDrift, nil, ms(7)) }},
		{"throughput", storm(70, 1), storm(69, 1)},
		{"no object is lost in any storm", storm(90, 1), storm(90, 0.999)},
		{"requests of a single drift", asked(singleDrift, 10), asked(singleDrift, 30)},
		{"requests in a storm", asked("storm, mixed", 2), asked("storm, mixed", 10)},
		{"writes at the lock", func(s *section) { s.writes("lock", 0) }, func(s *section) { s.writes("lock", 1) }},
		{"5,000 objects", locked(3.5, 5000), locked(3.6, 5000)},
		{"50,000 objects", locked(30, 50000), locked(31, 50000)},
		{"memory of its objects", func(s *section) { s.memory("locked", holds(40), process.Resident{}, 1024) },
			func(s *section) { s.memory("locked", holds(41), process.Resident{}, 1024) }},
		{"memory after storms", func(s *section) { s.memory(afterStorms, holds(68), process.Resident{}, 1024) },
			func(s *section) { s.memory(afterStorms, holds(69), process.Resident{}, 1024) }},
		{"processor time, in proportion", func(s *section) { s.churn(500, 500, 0.05) },
			func(s *section) { s.churn(500, 50, 0.05) }},
		{"drift among status updates", func(s *section) { s.churnDrift(2000, 1500, 1) },
			func(s *section) { s.churnDrift(2000, 1500, 0.999) }},
		{"growth", func(s *section) { s.growth("x", holds(9), holds(5)) },
			func(s *section) { s.growth("x", holds(5), holds(9)) }},
		{"Helm's time", upgraded(21, 0, 0), upgraded(22, 0, 0)},
		{"writes during and after an upgrade", upgraded(15, 0, 0), upgraded(15, 0, 1)},
		{"a standby", func(s *section) { s.graceful(ms(1000), ms(5000)) },
			func(s *section) { s.graceful([]time.Duration{0, 1001 * time.Millisecond}, ms(5)) }},
		{"a kill", func(s *section) { s.killed(ms(6000), 5*time.Second) },
			func(s *section) { s.killed(ms(6001), 5*time.Second) }},
		{"a queue", queue(0, 30, 30, 31), queue(0, 30, 60, 90)},
		{"a guarded write", guarded("allowed write", 12), guarded("allowed write", 13)},
		{"what the guard takes", guardTakes(25), guardTakes(26)},
		{"a judged record", judged(70), judged(71)},
		{"cost in proportion", func(s *section) { s.scale(points(1), process.Resident{}) },
			func(s *section) { s.scale(points(1.1), process.Resident{}) }},
	} {
		for wanted, add := range []func(*section){c.met, c.missed} {
			r := &result{}
			add(r.begin("x"))
			missed := r.missed()
			check.That(t, (len(missed) > 0) == (wanted == 1), "%s: missed are %q", c.name, missed)
		}
	}
}

// points are those of a cost proportional to a power of the number of objects.
func points(power float64) []point {
	var all []point
	for _, n := range []int{100, 1000, 10000} {
		cost := math.Pow(float64(n), power) / 10000
		all = append(all, point{Releases: n / 10, Objects: n, Lock: cost, Memory: cost, Own: cost, Floor: 1, Drift: 1})
	}
	return all
}

func TestExponent(t *testing.T) {
	x := []float64{100, 1000, 10000}
	for _, c := range []struct {
		name string
		y    []float64
		want float64
	}{
		{"linear", []float64{3, 30, 300}, 1},
		{"quadratic", []float64{1, 100, 10000}, 2},
		{"constant", []float64{7, 7, 7}, 0},
		{"what is too small to be measured is left out", []float64{-1, 10, 100}, 1},
		{"nothing is known to grow", []float64{0, -3, 5}, 0},
	} {
		got := exponent(x, c.y)
		check.That(t, !(math.Abs(got-c.want) > 1e-9), "%s: got %g, want %g", c.name, got, c.want)
	}
}

// upgradeLog is the audit log of one upgrade, by lines "agent verb namespace".
func upgradeLog(lines ...string) []event {
	var all []event
	for _, line := range lines {
		f := strings.Fields(line)
		e := event{UserAgent: f[0], Verb: f[1]}
		e.ObjectRef.Resource, e.ObjectRef.Namespace = "configmaps", f[2]
		all = append(all, e)
	}
	return all
}

func TestWritesBetweenHelmsFirstAndLast(t *testing.T) {
	for _, c := range []struct {
		name string
		log  []event
		want int
	}{
		{"none", upgradeLog("Helm/3 create a", "helm-locker/v1 get a", "Helm/3 patch a"), 0},
		{"one", upgradeLog("Helm/3 create a", "helm-locker/v1 patch a", "Helm/3 patch a"), 1},
		{"before and after", upgradeLog("helm-locker/v1 patch a", "Helm/3 create a", "Helm/3 patch a",
			"helm-locker/v1 patch a"), 0},
		{"elsewhere", upgradeLog("Helm/3 create a", "helm-locker/v1 patch b", "Helm/3 patch a"), 0},
		{"Helm only read", upgradeLog("Helm/3 get a", "helm-locker/v1 patch a", "Helm/3 list a"), 0},
	} {
		check.Equal(t, writesWithin(c.log, "a"), c.want, "%v", c.name)
	}
}

func TestTheTallyFollowsDrifts(t *testing.T) {
	a, b := object{name: "a"}, object{name: "b"}
	tally, at := newTally([]object{a, b}), time.Now()
	for range 2 {
		_, ok := tally.next()
		check.Must(t, ok, "an object that is as declared was not handed out")
	}
	_, ok := tally.next()
	check.That(t, !ok, "an object was handed out that has drifted")
	tally.restored(a, at) // seen before the answer to the tampering
	tally.tampered(a)
	tally.tampered(b)
	n := tally.waiting()
	check.That(t, n == 1, "%d drifts wait, want that of b", n)
	o, ok := tally.next()
	check.That(t, ok && o == a, "the restored object was not handed out again")
	made, lived := tally.result()
	check.That(t, made == 3 && len(lived) == 1 && lived[0] == 0,
		"%d made, %v lived; want 3, and one that was over at once", made, lived)
}

func TestTheObserverSeesRestorations(t *testing.T) {
	o := &observer{sights: map[object]sight{}}
	obj := object{namespace: "n", name: "a", release: "r"}
	at := func(kind apiwatch.EventType, version, value string) {
		o.take(apiwatch.Event{Type: kind, Object: &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", ResourceVersion: version},
			Data:       map[string]string{"value": value},
		}})
	}
	restored := func(marked map[object]uint64) bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		times, err := o.restored(ctx, marked)
		return err == nil && !times[obj.key()].IsZero()
	}
	at(apiwatch.Added, "1", declared)
	marked := o.mark(obj)
	check.That(t, !restored(marked), "an object counts as restored that nobody has touched")
	at(apiwatch.Modified, "2", "foreign")
	check.That(t, !restored(marked), "a foreign value counts as restored")
	at(apiwatch.Modified, "3", declared)
	check.That(t, restored(marked), "a restoration was not seen")
	marked = o.mark(obj)
	at(apiwatch.Modified, "4", declared)
	check.That(t, !restored(marked), "a write to an object that is as declared counts as a restoration")
	at(apiwatch.Deleted, "5", declared)
	check.That(t, !restored(marked), "a deletion counts as a restoration")
	at(apiwatch.Added, "6", declared)
	check.That(t, restored(marked), "a re-creation was not seen")
}

func TestTheSignTest(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want float64
	}{{0, 0, 1}, {0, 5, 1}, {5, 5, 1.0 / 32}, {4, 5, 6.0 / 32}, {15, 30, 0.572}, {22, 30, 0.0081}} {
		got := chanceOf(c.k, c.n)
		check.That(t, !(math.Abs(got-c.want) > 0.001), "%d of %d: %g, want %g", c.k, c.n, got, c.want)
	}
	slower, pairs := slowerPairs([]time.Duration{1, 2, 3}, []time.Duration{2, 1, 3, 9})
	check.That(t, slower == 1 && pairs == 2, "%d of %d", slower, pairs)
}
