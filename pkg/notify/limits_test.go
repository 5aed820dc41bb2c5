package notify

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestOverflowDropsTheOldestAndSaysSoOnce(t *testing.T) {
	b := newBench(t)
	for n := range queueLength + 5 {
		b.Send(drifted(fmt.Sprint(n)))
	}
	b.run()
	b.answers <- status(500)
	b.expect("lost 5")
	<-b.clock.timers
	for n := range 2 { // more is lost while the summary waits
		b.Send(drifted(fmt.Sprintf("late %d", n)))
	}
	b.clock.Step(time.Second)
	b.answers <- ok
	b.expect("lost 7")
	for n := range queueLength - 2 {
		b.answers <- ok
		b.expect(fmt.Sprint(n + 7))
	}
	b.answers <- ok
	b.answers <- ok
	b.expect("late 0", "late 1")
	b.stop()
	b.counts.expect(t, map[string]int{ResultDropped: 7, ResultSent: queueLength + 1}, 0)
	n := strings.Count(b.log.String(), "notifications are lost")
	check.That(t, n == 1, "the log says %d times that notifications are lost", n)
}

// I12: a namespace with drift without end neither pushes the messages of others out of the queue nor delays them by
// more than a turn, whenever they come.
func TestNamespacesTakeTurns(t *testing.T) {
	q, now := newQueue(100, &counts{results: map[string]int{}}), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	put := func(namespace, what string) {
		q.put(&item{at: now, event: event{Event: message.Event{ID: what, Message: &message.Message{
			Type: message.LockChanged, Release: &message.Reference{Namespace: namespace, Name: what}}}}})
	}
	put("early", "1")
	for n := range 1000 {
		put("hostile", fmt.Sprint(n))
	}
	put("late", "1")
	put("late", "2")
	lost := q.allLost(now).Count
	check.That(t, lost == 903, "%d are lost, want those that are too many", lost)
	q.reported(&message.Lost{Count: 903}, now)
	for _, want := range []string{"early 1", "hostile 903", "late 1", "hostile 904", "late 2", "hostile 905", "hostile 906"} {
		i, _ := q.next(now)
		got := i.Release.Namespace + " " + i.Release.Name
		check.That(t, got == want, "%s comes, want %s", got, want)
	}
	put("late", "3")
	now = now.Add(maxAge + time.Second)
	put("late", "4")
	q.expire(now)
	lost = q.allLost(now).Count
	check.That(t, lost == 94 && q.count == 1 && len(q.turns) == 1, "%d are too old, and %d of %v wait", lost, q.count,
		q.turns)
}

func TestWhatIsTooOldIsGivenUp(t *testing.T) {
	b := newBench(t)
	b.run()
	b.Send(drifted("first"))
	b.Send(drifted("second"))
	b.answers <- status(500)
	b.expect("first")
	<-b.clock.timers
	b.clock.Step(maxAge + time.Minute)
	b.answers <- status(500)
	b.expect("first") // given up; the second is too old by now
	b.Send(drifted("third"))
	b.answers <- ok
	b.answers <- ok
	b.expect("lost 2", "third")
	b.stop()
	b.counts.expect(t, map[string]int{ResultExpired: 2, ResultSent: 2}, 0)
}

func TestShutdownFlushes(t *testing.T) {
	b := newBench(t)
	for n := range 3 {
		b.answers <- ok
		b.Send(drifted(fmt.Sprint(n)))
	}
	b.run()
	b.stop()
	b.expect("0", "1", "2")
	b.Send(drifted("too late"))
	b.counts.expect(t, map[string]int{ResultSent: 3, ResultDropped: 1}, 0)
}

func TestShutdownDoesNotWaitForADeadReceiver(t *testing.T) {
	b := newBench(t)
	for n := range 3 {
		b.Send(drifted(fmt.Sprint(n)))
	}
	b.answers <- status(500)
	b.run()
	b.expect("0")
	<-b.clock.timers // of the retry
	go func() {
		for d := range b.clock.timers {
			if d == flushTime {
				b.clock.Step(flushTime - time.Second)
				b.clock.Step(time.Second)
				return
			}
		}
	}()
	// The retry comes due while the operator stops, and is not answered: the end of the flush ends it.
	b.stop()
	b.counts.expect(t, map[string]int{ResultDropped: 3}, 0)
	check.That(t, strings.Contains(b.log.String(), "2 notifications were not sent"), "the log is %s", b.log)
	b.answers <- ok // so that the server can be closed
}

// One receiver without an answer delays no other receiver, and no sender.
func TestReceiversAreIndependent(t *testing.T) {
	held := make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	defer dead.Close()
	defer close(held)
	b := newBench(t, func(o *Options) { o.URLs = append([]string{dead.URL}, o.URLs...) })
	b.run()
	for n := range 20 {
		b.answers <- ok
		b.Send(drifted(fmt.Sprint(n)))
	}
	for n := range 20 {
		b.expect(fmt.Sprint(n))
	}
	go func() {
		for d := range b.clock.timers {
			if d == flushTime {
				b.clock.Step(d)
				return
			}
		}
	}()
	b.stop()
}

func TestTLSAndToken(t *testing.T) {
	authorization := make(chan string, 10)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusOK)
	}))
	defer server.Close()
	server.Config.ErrorLog = nil
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		check.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	token, ca := write("token", "one\n"), write("ca.crt", pemOf(server.Certificate().Raw))

	trusting := newBench(t, func(o *Options) { o.URLs, o.CAFile, o.TokenFile = []string{server.URL}, ca, token })
	trusting.run()
	trusting.Send(drifted("web"))
	check.Equal(t, <-authorization, "Bearer one", "Authorization")
	write("token", "two")
	trusting.Send(drifted("web"))
	got := <-authorization
	check.That(t, got == "Bearer two", "Authorization is %q after the token was rotated", got)
	trusting.stop()
	trusting.counts.expect(t, map[string]int{ResultSent: 2}, 0)

	wary := newBench(t, func(o *Options) { o.URLs = []string{server.URL} })
	wary.run()
	wary.Send(drifted("web"))
	<-wary.clock.timers // it failed and is to be tried again
	go func() {
		<-wary.clock.timers
		wary.clock.Step(flushTime)
	}()
	wary.stop()
	check.That(t, strings.Contains(wary.log.String(), "certificate") && len(authorization) == 0,
		"a server that nobody vouches for got the message, or the log does not say why not: %s", wary.log)
}

func TestBadOptionsAreClearErrorsWithoutSecrets(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"a relative URL":    {Options{URLs: []string{"https://ok.example", "/hook?key=hunter2"}}, "URL 2 of 2"},
		"a broken URL":      {Options{URLs: []string{"https://user:hunter2@host:port/"}}, "URL 1 of 1"},
		"another scheme":    {Options{URLs: []string{"ftp://user:hunter2@host/"}}, "http or https"},
		"nobody to tell":    {Options{}, "no receiver"},
		"a format":          {Options{URLs: []string{"https://ok.example"}, Format: "xml"}, "none of [cloudevents json slack teams]"},
		"a missing CA file": {Options{URLs: []string{"https://ok.example"}, CAFile: "/none/ca"}, "/none/ca"},
		"a missing token":   {Options{URLs: []string{"https://ok.example"}, TokenFile: "/none/token"}, "/none/token"},
		"a token in the open": {Options{URLs: []string{"http://u:hunter2@ok.example"}, TokenFile: "/none/token"},
			"only sent over https"},
	} {
		_, err := New(tc.o, clock.RealClock{}, logrus.New(), &counts{})
		check.That(t, err != nil && strings.Contains(err.Error(), tc.want) && !strings.Contains(err.Error(), "hunter2"),
			"%s: error is %v", name, err)
	}
}

func TestJitterStaysInItsRange(t *testing.T) {
	for range 1000 {
		d := jitter(time.Second)
		check.Must(t, d >= 500*time.Millisecond && d <= time.Second, "%s for a second", d)
	}
}

func pemOf(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
