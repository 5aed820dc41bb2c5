package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// testClock is a clock with a list of its timers; Step lets them go off.
type testClock struct {
	*clocktesting.FakeClock
	timers chan time.Duration
}

func (c *testClock) NewTimer(d time.Duration) clock.Timer {
	t := c.FakeClock.NewTimer(d)
	c.timers <- d
	return t
}

// counts is an Observer.
type counts struct {
	mu      sync.Mutex
	results map[string]int
	retries int
	waiting int
}

func (c *counts) Notified(result string) { c.mu.Lock(); defer c.mu.Unlock(); c.results[result]++ }
func (c *counts) NotifyRetried()         { c.mu.Lock(); defer c.mu.Unlock(); c.retries++ }
func (c *counts) NotifyWaiting(n int)    { c.mu.Lock(); defer c.mu.Unlock(); c.waiting += n }

func (c *counts) expect(t *testing.T, want map[string]int, waiting int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	check.That(t, fmt.Sprint(c.results) == fmt.Sprint(want) && c.waiting == waiting,
		"results are %v with %d waiting, want %v with %d", c.results, c.waiting, want, waiting)
}

type received struct {
	header http.Header
	body   map[string]any
}

// bench is a notifier without jitter, and a receiver whose answers a test gives.
type bench struct {
	*Notifier
	t       *testing.T
	clock   *testClock
	counts  *counts
	sent    int
	log     *bytes.Buffer
	got     chan received
	answers chan func(http.ResponseWriter)
	stop    func() // as the operator does: ends when everything is flushed
	done    chan struct{}
}

func ok(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

func status(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, counts: &counts{results: map[string]int{}}, log: &bytes.Buffer{}, got: make(chan received, 100),
		answers: make(chan func(http.ResponseWriter), 100), done: make(chan struct{}),
		clock: &testClock{clocktesting.NewFakeClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
			make(chan time.Duration, 100)}}
	server := httptest.NewServer(http.HandlerFunc(b.receive))
	t.Cleanup(server.Close)
	o := Options{URLs: []string{strings.Replace(server.URL, "http://", "http://user:pa55word@", 1) +
		"/hook-token?key=qu3ry"}}
	for _, f := range change {
		f(&o)
	}
	log := logrus.New()
	log.SetOutput(b.log)
	log.SetLevel(logrus.TraceLevel)
	var err error
	b.Notifier, err = New(o, b.clock, log, b.counts)
	check.NoError(t, err)
	for _, r := range b.receivers {
		r.jitter = func(d time.Duration) time.Duration { return d }
	}
	return b
}

func (b *bench) receive(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	check.Report(b.t, err)
	body := map[string]any{}
	check.Report(b.t, json.Unmarshal(content, &body))
	b.got <- received{r.Header, body}
	(<-b.answers)(w)
}

// Send sends a message as an event of its own.
func (b *bench) Send(m *message.Message) {
	b.sent++
	if m.Time.IsZero() {
		m.Time = b.clock.Now()
	}
	b.Notifier.Send(message.Event{ID: fmt.Sprint("lease-1-", b.sent), Message: m})
}

// run starts the notifier; stop is to be called in the end.
func (b *bench) run() {
	ctx, cancel := context.WithCancel(b.t.Context())
	go func() {
		defer close(b.done)
		b.Run(ctx)
	}()
	b.stop = func() {
		cancel()
		<-b.done
		for _, secret := range []string{"pa55word", "qu3ry", "hook-token"} {
			check.That(b.t, !strings.Contains(b.log.String(), secret), "the log has a part of the URL: %s", b.log)
		}
	}
}

func drifted(name string) *message.Message {
	return &message.Message{Type: message.DriftReverted, HelmRelease: &message.Reference{Namespace: "locker", Name: "shop"}, Release: &message.Reference{Namespace: "apps", Name: "shop"},
		Drift: &v1alpha1.DriftRecord{Operation: v1alpha1.DriftModified, Action: v1alpha1.DriftActionReverted,
			FieldManager: "kubectl-edit",
			Object:       v1alpha1.DriftedObject{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: name},
			Paths:        []string{"/spec/replicas"}}}
}

// subject returns the name of the drifted object of a CloudEvent, or how many messages it says were lost.
func subject(r received) string {
	data, _ := r.body["data"].(map[string]any)
	if lost, ok := data["lost"].(map[string]any); ok {
		return fmt.Sprintf("lost %v", lost["count"])
	}
	return strings.TrimPrefix(fmt.Sprint(r.body["subject"]), "Deployment.apps apps/")
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	for _, name := range want {
		check.Equal(b.t, subject(<-b.got), name, "received")
	}
}
