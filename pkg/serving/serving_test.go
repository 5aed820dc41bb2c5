package serving

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// never is a limit that no test reaches.
const never = time.Hour

// patience is the timeout of expected events.
const patience = 20 * time.Second

func limits(change func(*Limits)) Limits {
	l := Limits{Connections: 4, Read: never, Write: never, Idle: never, HeaderBytes: 4 << 10, Stop: time.Second}
	if change != nil {
		change(&l)
	}
	return l
}

// serve serves a handler until the end of the test and returns its address.
func serve(t *testing.T, l Limits, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, listener, handler, l, log) }()
	t.Cleanup(func() {
		cancel()
		check.Report(t, <-done)
	})
	return listener.Addr().String()
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// dial opens a connection and sends a part of a request.
func dial(t *testing.T, address, sent string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	check.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = io.WriteString(connection, sent)
	check.NoError(t, err)
	return connection
}

const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

// answered reads one answer from a connection.
func answered(t *testing.T, connection net.Conn) error {
	t.Helper()
	check.NoError(t, connection.SetReadDeadline(time.Now().Add(patience)))
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return err
	}
	_, err = io.ReadAll(answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// answeredSoon opens connections until one is answered, and returns that. The server notices that a connection is
// idle after its client has the answer: until then it makes no room for another one.
func answeredSoon(t *testing.T, address string) net.Conn {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		connection := dial(t, address, request)
		err := answered(t, connection)
		if err == nil {
			return connection
		}
		check.Must(t, !time.Now().After(end), "there is no room: %v", err)
	}
}

// closed waits until the server has closed a connection.
func closed(t *testing.T, what string, connection net.Conn) {
	t.Helper()
	check.NoError(t, connection.SetReadDeadline(time.Now().Add(patience)))
	var timeout net.Error
	if _, err := io.Copy(io.Discard, connection); errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("%s: the connection is still open", what)
	}
}

func TestConnectionsThatOnlyWaitMakeRoom(t *testing.T) {
	for what, sent := range map[string]string{"nothing is sent": "",
		"half a header is sent": "GET / HTTP/1.1\r\nHost: ", "idle after an answer": request} {
		t.Run(what, func(t *testing.T) {
			address := serve(t, limits(nil), ok)
			var held []net.Conn
			for range 20 {
				if sent == request {
					held = append(held, answeredSoon(t, address))
					continue
				}
				held = append(held, dial(t, address, sent))
			}
			answeredSoon(t, address)
			// The server notices that a connection is idle after its client has the answer, so any four may be the
			// last ones.
			gone := make(chan struct{}, len(held))
			for _, connection := range held {
				check.NoError(t, connection.SetReadDeadline(time.Now().Add(patience)))
				go func() {
					var timeout net.Error
					if _, err := io.Copy(io.Discard, connection); !errors.As(err, &timeout) || !timeout.Timeout() {
						gone <- struct{}{}
					}
				}()
			}
			for n := range 16 {
				select {
				case <-gone:
				case <-time.After(patience):
					t.Fatalf("only %d of 20 connections were closed", n)
				}
			}
		})
	}
}

func TestConnectionsThatAreAnsweredStay(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	address := serve(t, limits(nil), func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-finish
		ok(w, r)
	})
	var busy []net.Conn
	for range 4 {
		busy = append(busy, dial(t, address, request))
		<-begun
	}
	closed(t, "one more than there is room for", dial(t, address, ""))
	close(finish)
	for _, connection := range busy {
		check.Report(t, answered(t, connection))
	}
	go func() { <-begun }()
	answeredSoon(t, address)
}

func TestEveryPhaseHasATimeLimit(t *testing.T) {
	const short = 50 * time.Millisecond
	t.Run("the header", func(t *testing.T) {
		address := serve(t, limits(func(l *Limits) { l.Read = short }), ok)
		closed(t, "half a header", dial(t, address, "GET / HTTP/1.1\r\nHost: "))
		closed(t, "nothing at all", dial(t, address, ""))
	})
	t.Run("the body", func(t *testing.T) {
		address := serve(t, limits(func(l *Limits) { l.Read = short }), func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			check.That(t, err != nil, "the body was read")
		})
		closed(t, "half a body", dial(t, address, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf"))
	})
	t.Run("between requests", func(t *testing.T) {
		address := serve(t, limits(func(l *Limits) { l.Idle = short }), ok)
		connection := dial(t, address, request)
		check.NoError(t, answered(t, connection))
		closed(t, "an idle connection", connection)
	})
	t.Run("the answer", func(t *testing.T) {
		cut := make(chan error, 1)
		address := serve(t, limits(func(l *Limits) { l.Write = short }), func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for chunk := strings.Repeat("x", 1<<20); err == nil; {
				_, err = io.WriteString(w, chunk)
			}
			cut <- err
		})
		dial(t, address, request) // and reads nothing
		err := <-cut
		check.That(t, err != nil, "the answer ended")
	})
}

func TestHeadersAreBounded(t *testing.T) {
	address := serve(t, limits(nil), ok)
	connection := dial(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	check.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	check.Equal(t, answer.StatusCode, http.StatusRequestHeaderFieldsTooLarge, "answered with %s", answer.Status)
}

func TestARequestThatDoesNotEndIsCutOffAtTheEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	begun, finish := make(chan struct{}), make(chan struct{})
	defer close(finish)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(begun)
			<-finish
		}), limits(func(l *Limits) { l.Stop = time.Millisecond }), logrus.New())
	}()
	connection := dial(t, listener.Addr().String(), request)
	<-begun
	cancel()
	check.Report(t, <-done)
	closed(t, "a request under way", connection)
}

func TestOnlyHostsThatAreKnown(t *testing.T) {
	handler := ForHosts([]string{"Locker.Example"}, "--metrics-host", http.HandlerFunc(ok))
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "[fd00::1]:8080": 200, "localhost": 200, "helm-locker-metrics": 200,
		"helm-locker-metrics.cattle-helm-system.svc:8080": 200,
		"locker.example": 200, "evil.example": 421, "127.0.0.1.evil.example": 421, "notlocker.example": 421,
		"evil.example:8080": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		check.That(t, w.Code == want && (want != 421 || strings.Contains(w.Body.String(), "--metrics-host")),
			"as %s it is answered with %d %s", host, w.Code, w.Body)
	}
}
