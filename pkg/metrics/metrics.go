// Package metrics holds the Prometheus metrics of the operator and of the processes beside it, all under
// helm_locker_. docs/operations.md describes each.
//
// Labels are bounded: by the locked objects (release, kind, resource), or by a closed list (all others). Names of
// objects, field managers and users are never labels. The series of a release are removed when it is no longer
// locked.
package metrics

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// Metrics are the operator's metrics.
type Metrics struct {
	*Process

	drift     *prometheus.CounterVec
	failed    *prometheus.CounterVec
	contended *prometheus.CounterVec
	lived     prometheus.Histogram
	releases  *releases
	leading   prometheus.Gauge
	shard     *prometheus.GaugeVec

	decisions *prometheus.CounterVec   // of the guard
	decided   *prometheus.HistogramVec // the time that they took
}

// New returns the metrics of an operator of the given version.
func New(version, commit string) *Metrics {
	with := func(more ...string) []string { return append(slices.Clone(ofRelease), more...) }
	p, f := NewProcess()
	m := &Metrics{
		Process: p,
		drift: f.counter("drift_total", "Changes made by anyone but Helm, by what was done about them.",
			with("kind", "action")...),
		failed: f.counter("revert_failures_total", "Attempts to restore an object that the API server refused.",
			with("kind")...),
		contended: f.counter("contentions_total", "Episodes in which another writer kept changing an object back.",
			with("kind")...),
		lived: f.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "time_to_revert_seconds",
			Help:    "Time from seeing a change to having restored the object.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}),
		releases: newReleases(),
		leading: f.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "leading",
			Help: "1 on the replica that writes, 0 on a standby."}),
		shard: f.Gauge("shard_info", "1, labelled with the name of the operator and the selector of its shard.",
			"controller_name", "selector"),
		decisions: f.counter("guard_decisions_total",
			"Requests that the API server asked the guard about, by what the guard answered and why.", "result",
			"reason"),
		decided: f.histogram("guard_duration_seconds", "Time that the guard took to answer.",
			prometheus.ExponentialBuckets(0.0001, 2, 15), "result"),
	}
	// Initialized, so that increase() sees the first refusal.
	for _, reason := range []string{"Drift", "Deletion"} {
		m.decisions.WithLabelValues("denied", reason)
	}
	m.decided.WithLabelValues("denied")
	// Only an operator has this metric: its absence is an alert.
	f.Gauge("build_info", "1, labelled with the version of the operator.", "version", "commit").
		WithLabelValues(version, commit).Set(1)
	p.registry.MustRegister(m.releases)
	return m
}

// Drift counts a change and, when it was restored, how long it lived.
func (m *Metrics) Drift(r release.Key, kind, action string, lived time.Duration, restored bool) {
	m.drift.WithLabelValues(r.Namespace, r.Name, kind, action).Inc()
	if restored {
		m.lived.Observe(lived.Seconds())
		m.releases.change(r, func(known *record) { known.reverts++ })
	}
	if action == "Refused" {
		m.Failed(r, kind)
	}
}

// Failed counts an attempt to restore an object that the API server refused.
func (m *Metrics) Failed(r release.Key, kind string) {
	m.failed.WithLabelValues(r.Namespace, r.Name, kind).Inc()
}

// Contended counts the beginning of a fight.
func (m *Metrics) Contended(r release.Key, kind string) {
	m.contended.WithLabelValues(r.Namespace, r.Name, kind).Inc()
}

// Yielded counts drift that was not reverted because Helm had begun to work.
func (m *Metrics) Yielded(r release.Key) {
	m.releases.change(r, func(known *record) { known.yields++ })
}

// Leading records whether this replica writes.
func (m *Metrics) Leading(on bool) { m.leading.Set(bit(on)) }

// Shard records the selection of this operator's HelmReleases: its name in the claim, and the label selector; nil
// selects all.
func (m *Metrics) Shard(controllerName string, selector fmt.Stringer) {
	text := ""
	if selector != nil {
		text = selector.String()
	}
	m.shard.WithLabelValues(controllerName, text).Set(1)
}

// State holds the metrics of a release.
type State struct {
	// Name is the state of the release, as status.state has it.
	Name string
	// Locked reports whether all objects of a revision are protected or, in mode Detect, watched.
	Locked  bool
	Objects v1alpha1.ObjectCounts
	// Conditions reports which conditions of its HelmRelease are True. It should contain every condition: a missing
	// one has no sample.
	Conditions map[string]bool
	// SuspendedSince is when the release was suspended; zero while it is not.
	SuspendedSince time.Time
}

// Release records the state of a release. Its counters exist from then on.
func (m *Metrics) Release(r release.Key, s State) {
	suspended := int64(0)
	if !s.SuspendedSince.IsZero() {
		suspended = s.SuspendedSince.Unix()
	}
	m.releases.change(r, func(known *record) {
		*known = record{state: s.Name, conditions: s.Conditions, yields: known.yields,
			reverts: known.reverts, objects: s.Objects, locked: s.Locked, suspended: suspended, stated: true}
	})
}

// Forget removes the series of a release that this operator no longer manages, the counters too: releases are created
// and deleted, and their series would add up.
func (m *Metrics) Forget(r release.Key) {
	labels := prometheus.Labels{"release_namespace": r.Namespace, "release": r.Name}
	for _, c := range []*prometheus.CounterVec{m.drift, m.failed, m.contended} {
		c.DeletePartialMatch(labels)
	}
	m.releases.forget(r)
}

// Guarded counts a decision of the guard: its result (allowed, warned, denied), its reason, and how long it took.
func (m *Metrics) Guarded(result, reason string, took time.Duration) {
	m.decisions.WithLabelValues(result, reason).Inc()
	m.decided.WithLabelValues(result).Observe(took.Seconds())
}
