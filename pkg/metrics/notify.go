package metrics

import "github.com/prometheus/client_golang/prometheus"

// notifyMetrics are about notifications. They have no label for the receiver: its address may hold what is secret.
type notifyMetrics struct {
	ended   *prometheus.CounterVec
	retries prometheus.Counter
	waiting prometheus.Gauge
}

// results are what becomes of a notification, for each receiver; pkg/notify has the same.
var results = []string{"sent", "skipped", "dropped", "expired", "rejected"}

func newNotifyMetrics(f factory) notifyMetrics {
	n := notifyMetrics{
		ended: f.counter("notifications_total",
			"Notifications, by what became of them: sent, skipped (by the template), dropped (the queue was full), "+
				"expired (too old), rejected (by the receiver).", "result"),
		retries: f.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "notification_retries_total",
			Help: "Attempts to send a notification that failed and are made again."}),
		waiting: f.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "notifications_waiting",
			Help: "Notifications that wait to be sent."}),
	}
	for _, result := range results {
		n.ended.WithLabelValues(result)
	}
	return n
}

// Notified counts a notification with its result: sent, skipped, dropped, expired or rejected.
func (m *Metrics) Notified(result string) { m.notify.ended.WithLabelValues(result).Inc() }

// NotifyRetried counts an attempt to send a notification that failed and is made again.
func (m *Metrics) NotifyRetried() { m.notify.retries.Inc() }

// NotifyWaiting changes the number of notifications that wait to be sent.
func (m *Metrics) NotifyWaiting(change int) { m.notify.waiting.Add(float64(change)) }
