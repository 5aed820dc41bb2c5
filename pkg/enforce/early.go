package enforce

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// holdPatience bounds for how long a request that was begun early waits for its Check. All the while the API server counts
	// it among those under way, of which it may allow few, and the Check may need to be one of them.
	holdPatience = 50 * time.Millisecond
	// holdRest is for how long no request is begun early after one that had to be withdrawn.
	holdRest = time.Minute
)

// early begins the requests of writes before it is known whether they may be made: everything but the body is sent while the
// Check is under way, and the body when it has passed. What the API server does with a request before it reads the body (who asks,
// whether they may, whose turn it is) is a sixth of the time of a write, and nothing can come of a request whose body is missing. If the
// Check does not pass, a body follows that says nothing. It is safe for concurrent use.
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

func (e *early) rest() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notBefore = time.Now().Add(holdRest)
}

// hold keeps the body of one request back until the Check has passed.
type hold struct {
	early *early
	check *Check

	mu      sync.Mutex
	tooLong bool
}

var errHeldTooLong = errors.New("withdrawn: the check takes long")

// wait returns nil when the Check has passed, and an error when the body is not to be sent.
func (h *hold) wait(ctx context.Context) error {
	patience := time.NewTimer(h.early.patience)
	defer patience.Stop()
	select {
	case <-h.check.done:
		return h.check.err
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
	}
	h.early.rest()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tooLong = true
	return errHeldTooLong
}

// withdrawn says whether the body was not sent because the Check took long, so that the request is to be made again.
func (h *hold) withdrawn() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tooLong
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
	if r.Body == nil { // there is nothing to hold back but all of it
		if err := h.wait(r.Context()); err != nil {
			return nil, err
		}
		return t.next.RoundTrip(r)
	}
	held := r.WithContext(r.Context())
	hold := func(body io.ReadCloser) io.ReadCloser {
		return &heldBody{ReadCloser: body, wait: func() error { return h.wait(r.Context()) }, size: r.ContentLength}
	}
	held.Body = hold(r.Body)
	if r.GetBody != nil { // for a connection that turns out to be closed
		held.GetBody = func() (io.ReadCloser, error) {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			return hold(body), nil
		}
	}
	return t.next.RoundTrip(held)
}

// nothing is what every byte is of a body that takes the place of one that is not to be sent. It begins no document, neither in JSON
// nor in YAML, so the API server answers that it is no patch (400). Were the request broken off, it would count an error of its own (500).
const nothing = ']'

// heldBody is a body of which nothing can be read before wait has returned. If that was an error, it is one of nothing.
type heldBody struct {
	io.ReadCloser
	wait func() error // nil once it was called
	size int64        // in bytes
	void bool
	left int64 // of a void one
}

// Read waits, and reads then.
func (b *heldBody) Read(p []byte) (int, error) {
	if b.wait != nil {
		err := b.wait()
		if err != nil && b.size <= 0 {
			return 0, err
		}
		b.void, b.left, b.wait = err != nil, b.size, nil
	}
	if !b.void {
		return b.ReadCloser.Read(p)
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.left)]
	for i := range p {
		p[i] = nothing
	}
	b.left -= int64(len(p))
	return len(p), nil
}
