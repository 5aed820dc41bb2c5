package enforce

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// holder keeps the body of one request back.
type holder interface {
	// wait returns nil when the body may be sent, and an error when it is not to be sent.
	wait(ctx context.Context) error
	// gone returns why the body is not to be sent any more, nil as long as it may be.
	gone() error
}

type holdKey struct{}

// held returns a context whose request h holds back, if a client with a transport made by holding makes it.
func held(ctx context.Context, h holder) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// holding returns a transport that holds requests back whose context says so.
func holding(next http.RoundTripper) http.RoundTripper { return &holdingTransport{next} }

type holdingTransport struct{ next http.RoundTripper }

// RoundTrip sends a request; if it is one to be held back, all but its body.
func (t *holdingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	h, ok := r.Context().Value(holdKey{}).(holder)
	if !ok {
		return t.next.RoundTrip(r)
	}
	// client-go makes a request again that the API server has no time for: a revert may not be made any more by then.
	if err := h.gone(); err != nil {
		return nil, errors.Join(err, closeBody(r))
	}
	if r.Body == nil { // there is nothing to hold back but all of it
		if err := h.wait(r.Context()); err != nil {
			return nil, err
		}
		return t.next.RoundTrip(r)
	}
	begun := r.WithContext(r.Context())
	around := func(body io.ReadCloser) io.ReadCloser {
		return &heldBody{ReadCloser: body, wait: func() error { return h.wait(r.Context()) }, size: r.ContentLength}
	}
	begun.Body = around(r.Body)
	if r.GetBody != nil { // for a connection that turns out to be closed
		begun.GetBody = func() (io.ReadCloser, error) {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			return around(body), nil
		}
	}
	return t.next.RoundTrip(begun)
}

func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// excuse is what is said in place of a revert's body that is not to be sent, as a JSON string, which also is a YAML one: the API server answers
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
