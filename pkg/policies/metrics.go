package policies

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rancher/helm-locker/pkg/metrics"
)

// policyMetrics are the metrics of the process that follows HelmReleasePolicies.
type policyMetrics struct {
	*metrics.Process

	releases *prometheus.GaugeVec
	ready    *prometheus.GaugeVec
}

func newMetrics() *policyMetrics {
	p, f := metrics.NewProcess()
	return &policyMetrics{
		Process: p,
		releases: f.Gauge("policy_releases", "Releases that a policy matches, by what became of them.", "policy",
			"state"),
		ready: f.Gauge("policy_ready", "1 for a policy that is ready, 0 for one that is not.", "policy"),
	}
}

// policyState holds the metrics of a policy: whether it is ready, and its releases by state.
type policyState struct {
	ready    bool
	releases map[string]int
}

// set replaces the states of all policies, given by name.
func (m *policyMetrics) set(states map[string]policyState) {
	m.releases.Reset()
	m.ready.Reset()
	for name, s := range states {
		ready := 0.0
		if s.ready {
			ready = 1
		}
		m.ready.WithLabelValues(name).Set(ready)
		for state, n := range s.releases {
			m.releases.WithLabelValues(name, state).Set(float64(n))
		}
	}
}
