package stream

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/serving"
	"github.com/rancher/helm-locker/pkg/viewer"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// served is a stream behind a port. The token "Bearer NAME" is that of the user NAME, until every token is refused.
type served struct {
	*Stream
	t      *testing.T
	url    string
	client *http.Client
	refuse atomic.Bool
	// refused gets a token for each refusal, while there is room.
	refused chan struct{}
}

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{t: t, refused: make(chan struct{}, 2)}
	log := logrus.New()
	log.SetOutput(io.Discard)
	s.Stream = New(func(r *http.Request) (string, *viewer.Refusal) {
		name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || s.refuse.Load() {
			select {
			case s.refused <- struct{}{}:
			default:
			}
			return "", &viewer.Refusal{Status: http.StatusUnauthorized, Message: "who is it?"}
		}
		return name, nil
	}, log)
	s.waitTimeout, s.beat = 50*time.Millisecond, 20*time.Millisecond
	// A certificate, and a client that trusts it.
	model := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(model.Close)
	s.client = model.Client()
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	check.NoError(t, err)
	s.url = "//" + listener.Addr().String() + lease.EventsPath
	mux := http.NewServeMux()
	mux.Handle(lease.EventsPath, s)
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	either := serving.Either(listener, &tls.Config{Certificates: model.TLS.Certificates, MinVersion: tls.VersionTLS13})
	go func() { done <- serving.Run(ctx, either, mux, serving.Standard(), log) }()
	t.Cleanup(func() {
		stop()
		check.NoError(t, <-done)
	})
	return s
}

// answer is what a reader is answered.
type answer struct {
	status   int
	location string
	body     io.Reader
}

// ask asks for the events after a position.
func (s *served) ask(name, after string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "https:"+s.url+"?after="+after, nil)
	check.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+name)
	response, err := s.client.Do(request)
	check.NoError(s.t, err)
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return answer{response.StatusCode, response.Header.Get("Location"), response.Body}
}

// reader reads events as words: the name of the object, or of what is lost.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
	last  string
}

func (s *served) read(after string) *reader {
	s.t.Helper()
	response := s.ask("reader", after)
	check.Must(s.t, response.status == http.StatusOK, "the answer is %d", response.status)
	return &reader{s.t, bufio.NewScanner(response.body), ""}
}

func (r *reader) next() string {
	for r.lines.Scan() {
		if len(r.lines.Bytes()) == 0 {
			continue
		}
		var e message.Event
		check.NoError(r.t, json.Unmarshal(r.lines.Bytes(), &e))
		r.last = e.ID
		switch {
		case e.Lost != nil && e.Lost.Unknown:
			return "lost some"
		case e.Lost != nil:
			return fmt.Sprint("lost ", e.Lost.Count)
		}
		return e.Release.Name
	}
	if err := r.lines.Err(); err != nil {
		return "broken"
	}
	return "end"
}

func (r *reader) expect(want ...string) {
	r.t.Helper()
	for _, w := range want {
		check.Equal(r.t, r.next(), w, "read")
	}
}

func (s *served) happen(namespace string, names ...string) {
	for _, name := range names {
		s.Send(&message.Message{Type: message.LockChanged, Lock: &message.Lock{Reason: "Locked"},
			Release: &message.Reference{Namespace: namespace, Name: name}})
	}
}

func TestAReaderGoesOnWhereItWas(t *testing.T) {
	s := serve(t)
	s.happen("apps", "early") // before the Lease is written
	s.Begin("lease-uid", 7)
	r := s.read("")
	r.expect("early")
	s.happen("apps", "one", "two")
	r.expect("one")
	check.Equal(t, r.last, "lease-uid-7-2", "the id")
	s.read(r.last).expect("two")
	s.End(t.Context())
	r.expect("two", "end")
	s.happen("apps", "late")
	s.read(r.last).expect("end")
}

// A reader that was away for too long gets the number of missed events, and then the kept ones.
func TestAGapIsReported(t *testing.T) {
	s := serve(t)
	s.Begin("lease-uid", 7)
	s.happen("apps", "one")
	for range kept {
		s.happen("apps", "more")
	}
	s.happen("apps", "last")
	r := s.read("lease-uid-7-1")
	r.expect("lost 1", "more")
	check.Equal(t, r.last, "lease-uid-7-3", "the id after the gap")
	s.read("").expect("more") // a new reader has missed nothing
}

// Only a reader that read an earlier leader's stream to its end knows the last events of that leader.
func TestAGapBetweenLeadersIsReported(t *testing.T) {
	for after, want := range map[string]string{
		"lease-uid-6-9":     "lost some",
		"lease-uid-6-9.end": "one",
		"lease-uid-5-9.end": "lost some", // there was one between
		"another-7-1":       "lost some", // a Lease that was deleted
		"lease-uid-7-9":     "lost some", // a stream that had the same number
	} {
		s := serve(t)
		s.Begin("lease-uid", 7)
		s.happen("apps", "one")
		check.Equal(t, s.read(after).next(), want, "after %s: read", after)
	}
}

// Drift without end in one namespace costs the others no event.
func TestHostile_AFloodOfOneNamespaceLeavesTheEventsOfOthers(t *testing.T) {
	s := serve(t)
	s.Begin("lease-uid", 7)
	s.happen("quiet", "one")
	for range 2 * kept {
		s.happen("loud", "noise")
	}
	r := s.read("lease-uid-7-0")
	r.expect("one", fmt.Sprint("lost ", kept+1), "noise")
}

// A stalled reader delays neither new events nor another reader, nor the end for ever.
func TestHostile_AFrozenReaderDelaysNoOne(t *testing.T) {
	s := serve(t)
	s.Begin("lease-uid", 7)
	frozen := s.ask("frozen", "")
	long := strings.Repeat("x", 64<<10) // more than the buffers of the connection
	for range kept {
		s.happen("apps", long)
	}
	s.happen("apps", "last")
	s.read(fmt.Sprint("lease-uid-7-", kept)).expect("last")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	s.End(ctx)
	check.That(t, frozen.status == http.StatusOK && ctx.Err() != nil,
		"the end did not wait for the reader that is not done")
}

func TestAStandbyNamesTheLeader(t *testing.T) {
	s := serve(t)
	if r := s.ask("reader", ""); r.status != http.StatusServiceUnavailable || r.location != "" {
		t.Errorf("without a leader: %+v", r)
	}
	s.Leader("10.0.0.7:8080")
	r := s.ask("reader", "")
	text, err := io.ReadAll(r.body)
	check.NoError(t, err)
	check.That(t,
		r.status == http.StatusServiceUnavailable && r.location == "https://10.0.0.7:8080/events" &&
			strings.Contains(string(text), "10.0.0.7:8080"), "with a leader: %+v %s", r, text)
}

// No token is asked for in the clear, and nobody reads without one, whatever the replica.
func TestHostile_TheStreamIsReadByTokensOverTLS(t *testing.T) {
	s := serve(t)
	s.Begin("lease-uid", 7)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http:"+s.url, nil)
	check.NoError(t, err)
	request.Header.Set("Authorization", "Bearer reader")
	plain, err := http.DefaultClient.Do(request)
	check.NoError(t, err)
	defer func() { _ = plain.Body.Close() }()
	check.Equal(t, plain.StatusCode, http.StatusBadRequest, "in the clear: %s", plain.Status)
	s.refuse.Store(true)
	r := s.ask("reader", "")
	check.That(t, r.status == http.StatusUnauthorized, "without a token: %d", r.status)
}

// A user has only a few readers, which is no matter of others.
func TestHostile_ReadersOfOneUserLeaveRoomForOthers(t *testing.T) {
	s := serve(t)
	s.Begin("lease-uid", 7)
	for range readerAtOnce {
		s.ask("greedy", "")
	}
	r := s.ask("greedy", "")
	check.That(t, r.status == http.StatusTooManyRequests, "one more of a user with many: %d", r.status)
	s.happen("apps", "one")
	s.read("").expect("one")
}

// A right that was taken away ends the stream, and not as if it had ended.
func TestHostile_ARightThatIsTakenAwayEndsTheStream(t *testing.T) {
	s := serve(t)
	s.Begin("lease-uid", 7)
	r := s.read("")
	s.refuse.Store(true)
	// A reader that is asked about again has not been dropped, and reads to the end.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-s.refused
		select {
		case <-s.refused:
			s.End(ctx)
		case <-ctx.Done():
		}
	}()
	r.expect("broken")
}
