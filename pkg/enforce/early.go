package enforce

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// holdPatience bounds for how long a request that was begun early waits for its Check. All the while the API server counts
	// it among those under way, of which it may allow few, and the Check may need to be one of them.
	holdPatience = time.Second
	// holdRest is for how long no request is begun early after a Check that did not pass, or took long: what is known of the records
	// is behind, and the next one would have to be withdrawn, too.
	holdRest = time.Minute
)

// early begins the requests of writes before it is known whether they may be made: everything but the body is sent while the
// Check is under way, and the body when it has passed. What the API server does with a request before it reads the body (who asks,
// whether they may, whose turn it is) is a sixth of the time of a write, and nothing can come of a request whose body is missing. If the
// Check does not pass, a body follows that is no patch. It is safe for concurrent use.
type early struct {
	patience time.Duration

	mu        sync.Mutex
	notBefore time.Time // when the next request may be begun early
}

// begin returns what holds back the body of a request that is begun now, nil when it should rather wait for its Check.
func (e *early) begin(c *Check) *hold {
	if e == nil || c == nil || c.answered() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Now().Before(e.notBefore) {
		return nil
	}
	return &hold{early: e, check: c}
}

// rest has nothing begun early for a while.
func (e *early) rest() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notBefore = time.Now().Add(holdRest)
}

// hold keeps the body of one request back until the Check has passed.
type hold struct {
	early *early
	check *Check

	sent      atomic.Bool // or may have been: what became of it is for the API server to say
	withdrawn atomic.Bool // because the Check took long, so that the request is to be made again
}

var errHeldTooLong = errors.New("withdrawn: the check takes long")

// wait returns nil when the Check has passed, and an error when the body is not to be sent.
func (h *hold) wait(ctx context.Context) error {
	if err := h.gone(); err != nil {
		return err
	}
	patience := time.NewTimer(h.early.patience)
	defer patience.Stop()
	select {
	case <-h.check.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
		if !h.check.answered() {
			h.early.rest()
			h.withdrawn.Store(true)
			return errHeldTooLong
		}
	}
	if h.check.err != nil {
		return h.check.err
	}
	h.sent.Store(true)
	return nil
}

// gone returns why the body is not to be sent any more, nil as long as it may be.
func (h *hold) gone() error {
	if h.withdrawn.Load() {
		return errHeldTooLong
	}
	if h.check.answered() {
		return h.check.err
	}
	return nil
}

type holdKey struct{}

// in returns a context whose request is held back, if a client with a transport made by holding makes it.
func (h *hold) in(ctx context.Context) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// holding returns a transport that holds requests back whose context says so.
func holding(next http.RoundTripper) http.RoundTripper { return &holdingTransport{next} }

type holdingTransport struct{ next http.RoundTripper }

// RoundTrip sends a request; if it is one to be held back, all but its body.
func (t *holdingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	h, ok := r.Context().Value(holdKey{}).(*hold)
	if !ok {
		return t.next.RoundTrip(r)
	}
	// client-go makes a request again that the API server has no time for.
	if err := h.gone(); err != nil {
		return nil, errors.Join(err, closeBody(r))
	}
	if r.Body == nil { // there is nothing to hold back but all of it
		if err := h.wait(r.Context()); err != nil {
			return nil, err
		}
		return t.next.RoundTrip(r)
	}
	held := r.WithContext(r.Context())
	around := func(body io.ReadCloser) io.ReadCloser {
		return &heldBody{ReadCloser: body, wait: func() error { return h.wait(r.Context()) }, size: r.ContentLength}
	}
	held.Body = around(r.Body)
	if r.GetBody != nil { // for a connection that turns out to be closed
		held.GetBody = func() (io.ReadCloser, error) {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			return around(body), nil
		}
	}
	return t.next.RoundTrip(held)
}

func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// excuse is what is said in place of a body that is not to be sent, as a JSON string, which also is a YAML one: the API server answers
// that it is no patch (400). Were the request broken off, the API server would count an error of its own (500); were the body no JSON,
// an API server before Kubernetes 1.37 could not write it to its audit log, and would lose what it writes with it
// (kubernetes/kubernetes#110671).
const excuse = "withdrawn by helm-locker: Helm has begun to work, or it cannot be told whether it has"

// void returns a body of that many bytes, two at least, that is no patch.
func void(size int64) io.Reader {
	text := []byte(excuse)
	text = text[:min(int64(len(text)), size-2)]
	padding := strings.Repeat(" ", int(size)-2-len(text))
	return strings.NewReader(`"` + string(text) + padding + `"`)
}

// heldBody is a body of which nothing can be read before wait has returned. If that was an error, it is void.
type heldBody struct {
	io.ReadCloser
	wait func() error // nil once it is known what is read
	size int64        // in bytes; not positive when it is not known
	void io.Reader    // what is read instead, if the body is void
}

// Read waits, and reads then.
func (b *heldBody) Read(p []byte) (int, error) {
	if b.wait != nil {
		err := b.wait()
		if err != nil && b.size < 2 {
			return 0, err
		}
		if err != nil {
			b.void = void(b.size)
		}
		b.wait = nil
	}
	if b.void != nil {
		return b.void.Read(p)
	}
	return b.ReadCloser.Read(p)
}
