package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueMetrics are about the work queues of a process. They are handed to each queue, as client-go's way to set
// them for all queues of the process would be felt by an embedding program.
type queueMetrics struct {
	depth                  *prometheus.GaugeVec
	adds, retries          *prometheus.CounterVec
	latency, work          *prometheus.HistogramVec
	unfinished, longestRun *prometheus.GaugeVec
}

func newQueueMetrics(f Factory) queueMetrics {
	buckets := prometheus.ExponentialBuckets(0.0001, 4, 12)
	return queueMetrics{
		depth:   f.Gauge("workqueue_depth", "Keys that wait in a work queue.", "queue"),
		adds:    f.counter("workqueue_adds_total", "Keys added to a work queue.", "queue"),
		retries: f.counter("workqueue_retries_total", "Keys added to a work queue for later.", "queue"),
		latency: f.histogram("workqueue_queue_duration_seconds", "Time that a key waited in a work queue.", buckets,
			"queue"),
		work: f.histogram("workqueue_work_duration_seconds", "Time that work on a key took.", buckets, "queue"),
		unfinished: f.Gauge("workqueue_unfinished_work_seconds",
			"Sum of the times that work in progress has taken so far.", "queue"),
		longestRun: f.Gauge("workqueue_longest_running_processor_seconds",
			"Time that the longest work in progress has taken so far.", "queue"),
	}
}

func (q *queueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(name)
}

func (q *queueMetrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name)
}

func (q *queueMetrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.latency.WithLabelValues(name)
}

func (q *queueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.work.WithLabelValues(name)
}

func (q *queueMetrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name)
}

func (q *queueMetrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longestRun.WithLabelValues(name)
}

func (q *queueMetrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name)
}
