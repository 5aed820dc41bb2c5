package main

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
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
	counted, err := count(strings.NewReader(auditLog), agentOperator)
	if err != nil {
		t.Fatal(err)
	}
	want := "1.00 get /api, 1.00 list secrets, 1.00 patch configmaps (dry run), 1.00 patch deployments.apps; " +
		"apart: 1.00 patch helmreleases.helm.cattle.io/status"
	if got := counted.per(1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if counted.work() != 4 || counted.writes() != 1 {
		t.Errorf("got %d requests and %d writes, want 4 and 1 (a dry run is no write)", counted.work(), counted.writes())
	}
}

func TestTargets(t *testing.T) {
	milliseconds := func(n int) []time.Duration { return []time.Duration{time.Duration(n) * time.Millisecond} }
	for _, c := range []struct {
		name   string
		add    func(*result)
		missed bool
	}{
		{"twice the floor", func(r *result) { r.latency("single drift", milliseconds(3), milliseconds(6)) }, false},
		{"more than twice the floor", func(r *result) { r.latency("single drift", milliseconds(3), milliseconds(7)) }, true},
		{"a deletion has no target", func(r *result) { r.latency("deletion", milliseconds(3), milliseconds(70)) }, false},
		{"no floor to compare with", func(r *result) { r.latency("single drift", nil, milliseconds(7)) }, true},
		{"half the throughput", func(r *result) { r.storm("storm", [2][]float64{{100}, {50}}, []float64{1}) }, false},
		{"less than half", func(r *result) { r.storm("storm", [2][]float64{{100}, {49}}, []float64{1}) }, true},
		{"one object lost in one storm", func(r *result) { r.storm("storm", [2][]float64{{100}, {90}}, []float64{1, 0.999}) }, true},
		{"a write at the lock", func(r *result) { r.writes("lock", 1) }, true},
		{"memory within the limit of its objects", func(r *result) { r.memory("locked", resident{now: 68 << 20}, 1024, 1024) }, false},
		{"memory over the limit of its objects", func(r *result) { r.memory("locked", resident{now: 69 << 20}, 1024, 1024) }, true},
		{"little processor time at the full rate", func(r *result) { r.churn(500, 500, 0.05) }, false},
		{"little processor time at a tenth of the rate", func(r *result) { r.churn(500, 50, 0.05) }, true},
		{"a drift lost among status updates", func(r *result) { r.churnDrift(2000, 1500, 0.999) }, true},
		{"less memory than before", func(r *result) { r.growth(resident{now: 9 << 20}, resident{now: 5 << 20}, 10) }, false},
	} {
		r := &result{}
		c.add(r)
		if r.missed() != c.missed {
			t.Errorf("%s: missed is %t", c.name, r.missed())
		}
	}
}

func TestTheTableSaysWhatIsMissed(t *testing.T) {
	r := &result{}
	r.latency("single drift", []time.Duration{time.Millisecond}, []time.Duration{1500 * time.Microsecond})
	r.locked("lock", 4*time.Second)
	var b strings.Builder
	if err := r.print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"single drift, median      1         1.50    ms  1.50x   <= 2x     met", "<= 3 s  MISSED"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestTheObserverSeesRestorations(t *testing.T) {
	o := &observer{sights: map[object]sight{}}
	obj := object{namespace: "n", name: "a", release: "r"}
	at := func(kind apiwatch.EventType, version, value string) {
		o.take(apiwatch.Event{Type: kind, Object: &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", ResourceVersion: version}, Data: map[string]string{"value": value},
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
