package notify

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rancher/helm-locker/pkg/message"
)

// Results of an attempt to copy evidence.
const copySucceeded, copyFailed = "copied", "failed"

// counters are an Observer, and one of copies, with metrics. They have no label for the receiver: its address may hold
// a secret.
type counters struct {
	registry *prometheus.Registry
	ended    *prometheus.CounterVec
	retries  prometheus.Counter
	waiting  prometheus.Gauge
	copies   *prometheus.CounterVec
	files    prometheus.Gauge
}

func newCounters() *counters {
	const namespace = "helm_locker"
	registry := prometheus.NewRegistry()
	f := promauto.With(registry)
	c := &counters{
		registry: registry,
		ended: f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "notifications_total",
			Help: "Notifications, by what became of them: sent, skipped (by the template or the severity), " +
				"dropped (the queue was full), expired (too old), rejected (by the receiver), missed (the operator " +
				"had them no more)."},
			[]string{"result"}),
		retries: f.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "notification_retries_total",
			Help: "Attempts to send a notification that failed and are made again."}),
		waiting: f.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "notifications_waiting",
			Help: "Notifications that wait to be sent."}),
		copies: f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "evidence_copies_total",
			Help: "Files of evidence that were copied to the bucket, and attempts that failed and are made again."},
			[]string{"result"}),
		files: f.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "evidence_files_waiting",
			Help: "Files of evidence that have ended and are not known to be in the bucket."}),
	}
	for _, result := range []string{copySucceeded, copyFailed} {
		c.copies.WithLabelValues(result)
	}
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, result := range []string{
		ResultSent, ResultSkipped, ResultDropped, ResultExpired, ResultRejected, ResultMissed,
	} {
		c.ended.WithLabelValues(result)
	}
	return c
}

func (c *counters) Notified(result string) { c.ended.WithLabelValues(result).Inc() }

// missed counts the messages that an operator no longer had, as a message of type MessagesWereLost reports them.
func (c *counters) missed(lost *message.Lost) {
	if lost != nil {
		c.ended.WithLabelValues(ResultMissed).Add(float64(max(lost.Count, 1)))
	}
}

func (c *counters) NotifyRetried() { c.retries.Inc() }

func (c *counters) NotifyWaiting(change int) { c.waiting.Add(float64(change)) }

// handler serves the metrics in the Prometheus text format.
func (c *counters) handler() http.Handler {
	return promhttp.HandlerFor(c.registry, promhttp.HandlerOpts{Registry: c.registry})
}
