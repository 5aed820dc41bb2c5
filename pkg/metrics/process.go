package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Process holds the common metrics of all processes, in a registry of their own: an embedding program keeps its default
// one.
type Process struct {
	registry *prometheus.Registry

	api   apiMetrics
	queue queueMetrics
}

// NewProcess returns the metrics of a process, and the factory of those that it has beside them.
func NewProcess() (*Process, Factory) {
	registry := prometheus.NewRegistry()
	f := Factory{promauto.With(registry)}
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Process{registry: registry, api: newAPIMetrics(f), queue: newQueueMetrics(f)}, f
}

// Handler serves the metrics in the Prometheus text format.
func (p *Process) Handler() http.Handler {
	return promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{Registry: p.registry})
}
