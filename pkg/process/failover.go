package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/watch"
)

const (
	// attempts is how often a request is sent that may be sent again.
	attempts = 3
	// writeAttempts is how often a write is sent that may be sent again.
	writeAttempts = 2
	// attemptTimeout is how long the first attempt waits for the first byte of an answer, and the second one twice
	// as long. The last one waits lastTimeouts times as long, or until the caller gives up: an API server that
	// waits for slow webhooks answers at last, and it ends a request by itself after a minute.
	attemptTimeout = 5 * time.Second
	lastTimeouts   = 12
	// silence is how long nothing may come of an answer that has begun. It is longer than a watch lasts: a watch
	// that has neither told anything nor ended by then is one of an API server that hangs.
	silence = watch.Lifetime + 3*time.Second
	// dialTimeout and dialKeepAlive are those of client-go's own dialer.
	dialTimeout, dialKeepAlive = 30 * time.Second, 30 * time.Second
)

// failover sends requests to the API server, and sends one again over another connection when an API server, or
// what is in front of it, does not answer. By HTTP/2 all requests share one connection. When a request is not
// answered in time, those that follow go over a new transport of client-go with a connection of its own; those
// under way stay where they are. It is safe for concurrent use.
type failover struct {
	connect func() (http.RoundTripper, error) // returns a transport that shares no connection with others
	timeout time.Duration                     // of the first attempt
	silence time.Duration                     // how long nothing may come of an answer
	log     logrus.FieldLogger

	mu      sync.Mutex
	current http.RoundTripper // nil before the first request and after one that was not answered; guarded by mu
}

// failingOver returns a configuration for the API server of config, whose clients share one failover. It holds no
// credentials: the failover's transports add them.
func failingOver(config *rest.Config, log logrus.FieldLogger) (*rest.Config, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: dialKeepAlive}).DialContext
	}
	f := &failover{timeout: attemptTimeout, silence: silence, log: log, connect: func() (http.RoundTripper, error) {
		own := rest.CopyConfig(config)
		own.Dial = dial // client-go shares no transport that has a dialer of its own
		return rest.TransportFor(own)
	}}
	if _, err := f.transport(); err != nil {
		return nil, fmt.Errorf("transport to the API server: %w", err)
	}
	return &rest.Config{Host: server.String(), APIPath: config.APIPath, UserAgent: config.UserAgent, Transport: f}, nil
}

func (f *failover) transport() (t http.RoundTripper, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current == nil {
		f.current, err = f.connect()
	}
	return f.current, err
}

// leave has the next request go over a new transport, unless another one is in use already.
func (f *failover) leave(t http.RoundTripper) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current == t {
		f.current = nil
		utilnet.CloseIdleConnectionsFor(t)
	}
}

// RoundTrip sends a request, and sends it again if it is not answered in time or the connection breaks, and it may be.
func (f *failover) RoundTrip(r *http.Request) (*http.Response, error) {
	for n := 1; ; n++ {
		t, err := f.transport()
		if err != nil {
			return nil, errors.Join(err, closeBody(r))
		}
		last := !repeatable(r) || n == attempts || n == writeAttempts && !isRead(r)
		timeout := time.Duration(n) * f.timeout
		if last {
			timeout = lastTimeouts * f.timeout
		}
		response, err := f.send(t, r, timeout)
		unanswered := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
		if unanswered {
			f.log.Warnf("no answer from the API server, so requests go over another connection: %s %s: %v", r.Method,
				r.URL.Path, err)
			f.leave(t)
		}
		broken := utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
		if err == nil || last || r.Context().Err() != nil || !unanswered && !broken {
			return response, err
		}
		if r, err = again(r); err != nil {
			return nil, err
		}
	}
}

// repeatable reports whether a request may be sent again although the API server may have carried it out. Reads
// may, and so may updates and patches: they set a state, and where it matters from which one, they carry its
// resourceVersion, so that a second one is a conflict. Creations and deletions may not: the caller must learn
// whether it was this request that created or deleted the object.
func repeatable(r *http.Request) bool {
	if r.Body != nil && r.GetBody == nil {
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPut:
		return true
	}
	// Dry runs and questions about permissions.
	return r.URL.Query().Has("dryRun") || strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/")
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// again returns a copy of a request with its body from the start.
func again(r *http.Request) (*http.Request, error) {
	r = r.Clone(r.Context())
	if r.GetBody == nil {
		return r, nil
	}
	body, err := r.GetBody()
	r.Body = body
	return r, err
}

func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// send sends a request and gives up with os.ErrDeadlineExceeded when no answer begins within timeout, or nothing
// more comes of one for the time of silence.
func (f *failover) send(t http.RoundTripper, r *http.Request, timeout time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(timeout, func() { cancel(os.ErrDeadlineExceeded) })
	response, err := t.RoundTrip(r.WithContext(ctx))
	a := &stream{ctx: ctx, timer: timer, cancel: cancel, silence: f.silence}
	if err != nil {
		err = a.because(err)
		a.end()
		return nil, err
	}
	timer.Reset(f.silence)
	a.ReadCloser, response.Body = response.Body, a
	return response, nil
}

// stream is the body of an answer, which must not be silent for long.
type stream struct {
	io.ReadCloser
	ctx     context.Context // that of the request, which lasts as long as the answer
	timer   *time.Timer     // cancels ctx
	cancel  context.CancelCauseFunc
	silence time.Duration
}

// Read reads from the answer.
func (a *stream) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.timer.Reset(a.silence)
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.because(err)
	}
	return n, err
}

// Close ends the request.
func (a *stream) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}

// because returns the deadline if it is what an error comes from, else the error.
func (a *stream) because(err error) error {
	if cause := context.Cause(a.ctx); errors.Is(cause, os.ErrDeadlineExceeded) {
		return cause
	}
	return err
}

func (a *stream) end() {
	a.timer.Stop()
	a.cancel(nil)
}
