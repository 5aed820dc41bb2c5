package dial

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// few is with how many requests under way the next one no longer goes over HTTP/1.1.
const few = 3

// ForRequests returns a copy of config for clients whose requests are to be answered soon. HTTP/2 has every request and its answer
// handed from goroutine to goroutine, here and in the API server, which takes a tenth of a millisecond for each. Many at once are
// cheaper over one connection of HTTP/2 than over as many of HTTP/1.1. So a request goes over HTTP/1.1 while few are under way, and
// over HTTP/2 otherwise; the requests of all clients with this configuration count.
func ForRequests(config *rest.Config) (*rest.Config, error) {
	alone := rest.CopyConfig(config)
	alone.NextProtos = []string{"http/1.1"}
	one, err := rest.TransportFor(alone)
	if err != nil {
		return nil, fmt.Errorf("HTTP/1.1: %w", err)
	}
	config = rest.CopyConfig(config)
	underWay := &atomic.Int32{}
	config.Wrap(func(many http.RoundTripper) http.RoundTripper { return &lanes{one, many, underWay} })
	return config, nil
}

// lanes sends requests over one of two transports.
type lanes struct {
	one, many http.RoundTripper
	underWay  *atomic.Int32 // over either, without an answer
}

// RoundTrip sends a request.
func (l *lanes) RoundTrip(r *http.Request) (*http.Response, error) {
	defer l.underWay.Add(-1)
	if l.underWay.Add(1) > few {
		return l.many.RoundTrip(r)
	}
	return l.one.RoundTrip(r)
}
