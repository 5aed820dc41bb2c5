package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/workqueue"
)

// Process holds the common metrics of all processes, in registries of their own: an embedding program keeps its default
// one. Those of Go and of the process are apart, as an embedding program has them already.
type Process struct {
	registry, runtime *prometheus.Registry

	api   apiMetrics
	queue queueMetrics
}

// NewProcess returns the metrics of a process, and the factory of those that it has beside them.
func NewProcess() (*Process, Factory) {
	registry, runtime := prometheus.NewRegistry(), prometheus.NewRegistry()
	f := Factory{promauto.With(registry)}
	runtime.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Process{registry: registry, runtime: runtime, api: newAPIMetrics(f), queue: newQueueMetrics(f)}, f
}

// Handler serves the metrics in the Prometheus text format.
func (p *Process) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{p.runtime, p.registry}, promhttp.HandlerOpts{Registry: p.runtime})
}

// Collector returns the metrics, without those of Go and of the process, for the registry of an embedding program.
func (p *Process) Collector() prometheus.Collector { return p.registry }

// RoundTripper returns a transport that counts the requests through next; it is a transport.WrapperFunc of client-go.
func (p *Process) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return &roundTripper{next: next, to: &p.api}
}

// Queues returns the MetricsProvider for work queues; the name of the queue becomes the label.
func (p *Process) Queues() workqueue.MetricsProvider { return &p.queue }
