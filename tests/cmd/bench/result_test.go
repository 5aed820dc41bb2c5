package main

import (
	"math"
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
		if got := quantile(c.sample, c.q); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
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
	counted := requests{}
	err := readEvents(strings.NewReader(auditLog), func(e event) {
		if e.by(agentOperator) {
			counted[e.String()]++
		}
	})
	check.NoError(t, err)
	want := "1.00 get /api, 1.00 list secrets, 1.00 patch configmaps (dry run), 1.00 patch deployments.apps; " +
		"apart: 1.00 patch helmreleases.helm.cattle.io/status"
	if got := counted.per(1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if counted.work() != 4 || counted.writes() != 1 {
		t.Errorf("got %d requests and %d writes, want 4 and 1 (a dry run is no write)", counted.work(),
			counted.writes())
	}
}

func TestTargets(t *testing.T) {
	milliseconds := func(n int) []time.Duration { return []time.Duration{time.Duration(n) * time.Millisecond} }
	for _, c := range []struct {
		name   string
		add    func(*section)
		missed bool
	}{
		{"2.1 times the floor", func(s *section) { s.latency(singleDrift, milliseconds(10), milliseconds(21)) }, false},
		{"more than 2.1 times the floor", func(s *section) {
			s.latency(singleDrift, milliseconds(10), milliseconds(22))
		}, true},
		{"2.5 times the floor again and again", func(s *section) {
			s.latency(oneObject, milliseconds(10), milliseconds(25))
		}, false},
		{"more than 2.6 times the floor again and again",
			func(s *section) { s.latency(oneRelease, milliseconds(10), milliseconds(27)) }, true},
		{"a deletion has no target", func(s *section) { s.latency(deletions, milliseconds(3), milliseconds(70)) },
			false},
		{"no floor to compare with", func(s *section) { s.latency(singleDrift, nil, milliseconds(7)) }, true},
		{"0.7 of the throughput", func(s *section) {
			s.storm("storm", stormLimit, [2][]float64{{100}, {70}}, []float64{1})
		}, false},
		{"less than that", func(s *section) { s.storm("storm", stormLimit, [2][]float64{{100}, {69}}, []float64{1}) },
			true},
		{"one object lost in one storm", func(s *section) {
			s.storm("storm", stormLimit, [2][]float64{{100}, {90}}, []float64{1, 0.999})
		}, true},
		{"two requests for a single drift", func(s *section) {
			s.requests(singleDrift, requests{"list secrets": 10, "patch configmaps": 10}, 10)
		}, false},
		{"three requests for a single drift", func(s *section) {
			s.requests(singleDrift, requests{"list secrets": 20, "patch configmaps": 10}, 10)
		}, true},
		{"two requests for each drift in a storm",
			func(s *section) { s.requests("storm, mixed", requests{"list secrets": 10, "patch configmaps": 10}, 10) },
			true},
		{"a write at the lock", func(s *section) { s.writes("lock", 1) }, true},
		{"5,000 objects locked in time", func(s *section) { s.locked("lock", 3500*time.Millisecond, 5000) }, false},
		{"5,000 objects locked too late", func(s *section) { s.locked("lock", 3600*time.Millisecond, 5000) }, true},
		{"50,000 objects locked in time", func(s *section) { s.locked("lock", 30*time.Second, 50000) }, false},
		{"50,000 objects locked too late", func(s *section) { s.locked("lock", 31*time.Second, 50000) }, true},
		{"memory within the limit of its objects",
			func(s *section) { s.memory("locked", process.Resident{Now: 68 << 20}, process.Resident{}, 1024) }, false},
		{"memory over the limit of its objects", func(s *section) {
			s.memory("locked", process.Resident{Now: 69 << 20}, process.Resident{}, 1024)
		}, true},
		{"little processor time at the full rate", func(s *section) { s.churn(500, 500, 0.05) }, false},
		{"little processor time at a tenth of the rate", func(s *section) { s.churn(500, 50, 0.05) }, true},
		{"a drift lost among status updates", func(s *section) { s.churnDrift(2000, 1500, 0.999) }, true},
		{"less memory than before", func(s *section) {
			s.growth("x", process.Resident{Now: 9 << 20}, process.Resident{Now: 5 << 20})
		}, false},
		{"more memory than before", func(s *section) {
			s.growth("x", process.Resident{Now: 5 << 20}, process.Resident{Now: 9 << 20})
		}, true},
		{"Helm as fast as ever", func(s *section) { s.upgrades("Helm", milliseconds(100), milliseconds(105), 0, 0) },
			false},
		{"Helm slowed down", func(s *section) { s.upgrades("Helm", milliseconds(100), milliseconds(106), 0, 0) }, true},
		{"a write during an upgrade", func(s *section) {
			s.upgrades("Helm", milliseconds(100), milliseconds(100), 1, 1)
		}, true},
		{"a write after an upgrade", func(s *section) {
			s.upgrades("Helm", milliseconds(100), milliseconds(100), 0, 1)
		}, true},
		{"a standby in time", func(s *section) { s.graceful(milliseconds(1000), milliseconds(5000)) }, false},
		{"one standby too late", func(s *section) {
			s.graceful([]time.Duration{0, 1001 * time.Millisecond}, milliseconds(5))
		}, true},
		{"in time after a kill", func(s *section) { s.killed(milliseconds(6000), 5*time.Second) }, false},
		{"too late after a kill", func(s *section) { s.killed(milliseconds(6001), 5*time.Second) }, true},
		{"a queue that stays", func(s *section) {
			s.sustained(200, [2]steady{{rate: 9, share: 1}, {rate: 9, share: 1, queue: []int{0, 30, 30, 31}}})
		}, false},
		{"a queue that grows", func(s *section) {
			s.sustained(200, [2]steady{{rate: 9, share: 1}, {rate: 9, share: 1, queue: []int{0, 30, 60, 90}}})
		}, true},
		{"cost in proportion", func(s *section) { s.scale(points(1), process.Resident{}) }, false},
		{"cost that outgrows the objects", func(s *section) { s.scale(points(1.1), process.Resident{}) }, true},
	} {
		r := &result{}
		c.add(r.begin("x"))
		if missed := r.missed(); (len(missed) > 0) != c.missed {
			t.Errorf("%s: missed are %q", c.name, missed)
		}
	}
}

// points are those of a cost that grows with a power of the objects.
func points(power float64) []point {
	var all []point
	for _, n := range []int{100, 1000, 10000} {
		cost := math.Pow(float64(n), power) / 10000
		all = append(all, point{Releases: n / 10, Objects: n, Lock: cost, Memory: cost, Own: cost, Floor: 1, Drift: 1})
	}
	return all
}

func TestTheTableSaysWhatIsMissedAndWhatWasBefore(t *testing.T) {
	r, before := &result{}, &result{}
	r.begin("x").latency(singleDrift, []time.Duration{time.Millisecond}, []time.Duration{1500 * time.Microsecond})
	r.Sections[0].locked("lock", 4*time.Second, 5000)
	before.begin("x").latency(singleDrift, []time.Duration{time.Millisecond}, []time.Duration{2500 * time.Microsecond})
	var b strings.Builder
	check.NoError(t, r.print(&b, before))
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"single drift, median 1 1.50 ms 1.50x <= 2.1x met 2.50 2.50x", "<= 3.5 s MISSED"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	if missed := r.missed(); len(missed) != 1 || missed[0] != "lock: 4 s, wanted <= 3.5 s" {
		t.Errorf("missed are %q", missed)
	}
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
		if got := exponent(x, c.y); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got %g, want %g", c.name, got, c.want)
		}
	}
}

// upgradeLog is one upgrade, by lines "who verb namespace".
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
		if got := writesWithin(c.log, "a"); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTheTallyFollowsDrifts(t *testing.T) {
	a, b := object{name: "a"}, object{name: "b"}
	tally, at := newTally([]object{a, b}), time.Now()
	for range 2 {
		if _, ok := tally.next(); !ok {
			t.Fatal("an object that is as declared was not handed out")
		}
	}
	if _, ok := tally.next(); ok {
		t.Error("an object was handed out that has drifted")
	}
	tally.restored(a, at) // seen before the answer to the tampering
	tally.tampered(a)
	tally.tampered(b)
	if n := tally.waiting(); n != 1 {
		t.Errorf("%d drifts wait, want that of b", n)
	}
	if o, ok := tally.next(); !ok || o != a {
		t.Error("the restored object was not handed out again")
	}
	if made, lived := tally.result(); made != 3 || len(lived) != 1 || lived[0] != 0 {
		t.Errorf("%d made, %v lived; want 3, and one that was over at once", made, lived)
	}
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
		ctx, cancel := contextThatEnded(t)
		defer cancel()
		times, err := o.restored(ctx, marked)
		return err == nil && !times[obj.key()].IsZero()
	}
	at(apiwatch.Added, "1", declared)
	marked := o.mark(obj)
	if restored(marked) {
		t.Error("an object counts as restored that nobody has touched")
	}
	at(apiwatch.Modified, "2", "foreign")
	if restored(marked) {
		t.Error("a foreign value counts as restored")
	}
	at(apiwatch.Modified, "3", declared)
	if !restored(marked) {
		t.Error("a restoration was not seen")
	}
	marked = o.mark(obj)
	at(apiwatch.Modified, "4", declared)
	if restored(marked) {
		t.Error("a write to an object that is as declared counts as a restoration")
	}
	at(apiwatch.Deleted, "5", declared)
	if restored(marked) {
		t.Error("a deletion counts as a restoration")
	}
	at(apiwatch.Added, "6", declared)
	if !restored(marked) {
		t.Error("a re-creation was not seen")
	}
}
