package cluster

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/transport"
)

// Request is a Proxy's record of one request.
type Request struct {
	// Time is when the request arrived.
	Time   time.Time
	Method string
	Path   string
	Query  url.Values
	// UserAgent and User identify the client; User is the common name of the client's certificate, or empty.
	UserAgent string
	User      string
	// Impersonated is the impersonated user, or empty.
	Impersonated string
	// Body is that of a write; the body of a read is not kept.
	Body []byte
	// Code is the HTTP status of the answer; 0 without an answer yet, and for a connection broken before it.
	Code int
}

// String describes the request in one line, for the message of a failed test.
func (r Request) String() string {
	target := url.URL{Path: r.Path, RawQuery: r.Query.Encode()}
	return fmt.Sprintf("%s %s %s %d (%s)", r.Time.Format("15:04:05.000"), r.Method, target.String(), r.Code,
		r.UserAgent)
}

// IsWrite reports whether the request may have changed something on the server.
func (r Request) IsWrite() bool { return isWrite(r.Method) }

// Resource returns the plural in the path ("configmaps"), or "".
func (r Request) Resource() string { return resourceOf(r.Path) }

// Requests returns the requests since the start or the last Reset, in the order of their arrival.
func (p *Proxy) Requests() []Request { return p.recorded(func(Request) bool { return true }) }

// Writes returns the requests with a writing verb, Leases and Events included.
func (p *Proxy) Writes() []Request { return p.recorded(Request.IsWrite) }

// Reset forgets the recorded requests.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = nil
}

func (p *Proxy) recorded(keep func(Request) bool) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var kept []Request
	for _, r := range p.requests {
		if keep(*r) {
			kept = append(kept, *r)
		}
	}
	return kept
}

// record adds a request to the list, and makes the body of a write readable again by way of GetBody.
func (p *Proxy) record(r *http.Request) (*Request, error) {
	record := &Request{
		Time: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), UserAgent: r.UserAgent(),
		Impersonated: r.Header.Get(transport.ImpersonateUserHeader),
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		record.User = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	if isWrite(r.Method) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
		record.Body = body
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, record)
	return record, nil
}

func (p *Proxy) setCode(record *Request, code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	record.Code = code
}
