package metrics

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// apiMetrics are about requests to the API server, as its clients' transport sees them.
type apiMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	watches  *prometheus.GaugeVec
	restarts *prometheus.CounterVec
}

func newAPIMetrics(f Factory) apiMetrics {
	return apiMetrics{
		requests: f.counter("api_requests_total", "Requests to the API server, by verb, class of resource and status "+
			"code (none without an answer).",
			"verb", "resource", "code"),
		duration: f.histogram("api_request_duration_seconds",
			"Time until the API server began to answer; watches excepted.",
			prometheus.ExponentialBuckets(0.001, 2, 14), "verb"),
		watches: f.Gauge("watches", "Watches that are open now, by watched resource.", "resource"),
		restarts: f.counter(
			"watch_restarts_total", "Watches that ended without the operator's doing and so had to be begun again.",
			"resource",
		),
	}
}

type roundTripper struct {
	next http.RoundTripper
	to   *apiMetrics
}

// WrappedRoundTripper lets client-go reach the connections behind this transport.
func (t *roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	what := classify(r)
	begun := time.Now()
	response, err := t.next.RoundTrip(r)
	code := "none"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	t.to.requests.WithLabelValues(what.verb, what.class, code).Inc()
	if what.verb != verbWatch {
		t.to.duration.WithLabelValues(what.verb).Observe(time.Since(begun).Seconds())
		return response, err
	}
	if err == nil && response.StatusCode == http.StatusOK {
		restarts := t.to.restarts.WithLabelValues(what.resource) // there from the first watch on, at 0
		open := t.to.watches.WithLabelValues(what.resource)
		open.Inc()
		response.Body = &watchBody{ReadCloser: response.Body, ended: func() {
			open.Dec()
			if r.Context().Err() == nil { // not because the operator wanted no more of it
				restarts.Inc()
			}
		}}
	}
	return response, err
}

// watchBody is the stream of a watch; its end is counted once.
type watchBody struct {
	io.ReadCloser
	once  sync.Once
	ended func()
}

func (b *watchBody) Close() error {
	b.once.Do(b.ended)
	return b.ReadCloser.Close()
}
