package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// guardMetrics are about the API server's requests to the guard.
type guardMetrics struct {
	decisions *prometheus.CounterVec
	duration  *prometheus.HistogramVec
}

func newGuardMetrics(f Factory) guardMetrics {
	g := guardMetrics{
		decisions: f.counter("guard_decisions_total",
			"Requests that the API server asked the guard about, by what the guard answered and why.", "result",
			"reason"),
		duration: f.histogram("guard_duration_seconds", "Time that the guard took to answer.",
			prometheus.ExponentialBuckets(0.0001, 2, 15), "result"),
	}
	// Initialized, so that increase() sees the first refusal.
	for _, reason := range []string{"Drift", "Deletion"} {
		g.decisions.WithLabelValues("denied", reason)
	}
	g.duration.WithLabelValues("denied")
	return g
}
