package notify

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestCloudEvent(t *testing.T) {
	b := newBench(t)
	b.run()
	b.answers <- ok
	b.Send(drifted("web"))
	r := <-b.got
	b.stop()
	check.Equal(t, r.header.Get("Content-Type"), "application/cloudevents+json; charset=utf-8", "Content-Type")
	for attribute, want := range map[string]any{
		"specversion": "1.0", "type": "io.cattle.helm.drift.reverted", "subject": "Deployment.apps apps/web",
		"datacontenttype": "application/json",
		"source":          "/apis/helm.cattle.io/v1alpha1/namespaces/locker/helmreleases/shop",
		"time":            "2026-11-21T10:00:00Z",
	} {
		check.That(t, r.body[attribute] == want, "%s is %v, want %v", attribute, r.body[attribute], want)
	}
	id, _ := r.body["id"].(string)
	check.That(t, id != "", "there is no id")
	data, _ := r.body["data"].(map[string]any)
	drift, _ := data["drift"].(map[string]any)
	check.That(t,
		fmt.Sprint(data["release"]) == "map[name:shop namespace:apps]" && drift["fieldManager"] == "kubectl-edit" &&
			fmt.Sprint(drift["paths"]) == "[/spec/replicas]", "data is %v", data)
	b.counts.expect(t, map[string]int{ResultSent: 1}, 0)
}

func TestPlainJSON(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Format = FormatJSON })
	b.run()
	b.answers <- ok
	b.Send(&message.Message{Type: message.LockChanged,
		HelmRelease: &message.Reference{Namespace: "locker", Name: "shop"},
		Lock:        &message.Lock{Locked: true, Revision: 3, Reason: "Locked"}})
	r := <-b.got
	b.stop()
	lock, _ := r.body["lock"].(map[string]any)
	check.That(t,
		r.header.Get("Content-Type") == "application/json" && r.body["type"] == "io.cattle.helm.lock.changed" &&
			lock["revision"] == 3.0 && r.body["id"] != "", "received %v", r)
}

func TestRetriesBackOffAndKeepTheOrder(t *testing.T) {
	b := newBench(t)
	b.run()
	b.Send(drifted("first"))
	b.Send(drifted("second"))
	var ids []any
	for n, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		want := time.Duration(seconds) * time.Second
		b.answers <- status([]int{500, 503, 429, 408}[n%4])
		r := <-b.got
		ids = append(ids, r.body["id"])
		got := <-b.clock.timers
		check.That(t, got == want && subject(r) == "first", "attempt %d for %s, next in %s, want %s", n, subject(r), got,
			want)
		b.clock.Step(want)
	}
	b.answers <- ok
	b.answers <- ok
	b.expect("first", "second")
	b.stop()
	ids = slices.Compact(ids)
	check.That(t, len(ids) == 1, "one message has the ids %v", ids)
	b.counts.expect(t, map[string]int{ResultSent: 2}, 0)
	check.That(t, b.counts.retries == 8, "%d retries counted", b.counts.retries)
}

func TestRetryAfterIsHeeded(t *testing.T) {
	b := newBench(t)
	b.run()
	b.Send(drifted("web"))
	date := b.clock.Now().Add(5 * time.Minute).Format(http.TimeFormat)
	for header, want := range map[string]time.Duration{"90": 90 * time.Second, "0": 0, "soon": 0} {
		b.answers <- status(http.StatusTooManyRequests, "Retry-After", header)
		<-b.got
		if got := <-b.clock.timers; want != 0 && got != want || got > 2*time.Minute {
			t.Errorf("waits %s for Retry-After %s", got, header)
		} else {
			b.clock.Step(got)
		}
	}
	b.answers <- status(http.StatusServiceUnavailable, "Retry-After", date)
	<-b.got
	if got := <-b.clock.timers; got < 3*time.Minute {
		t.Errorf("waits %s for a date", got)
	} else {
		b.clock.Step(got)
	}
	b.answers <- ok
	b.expect("web")
	b.stop()
}

func TestWhatIsTurnedDownIsNotSentAgain(t *testing.T) {
	b := newBench(t)
	b.run()
	for n, code := range []int{400, 401, 404, 410, 301, 307, 501} {
		b.answers <- status(code, "Location", "http://example.invalid/elsewhere")
		b.Send(drifted(fmt.Sprint(n)))
		b.expect(fmt.Sprint(n))
	}
	b.stop()
	b.counts.expect(t, map[string]int{ResultRejected: 7}, 0)
}
