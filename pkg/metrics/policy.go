package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// policyMetrics are about HelmReleasePolicies.
type policyMetrics struct {
	releases *prometheus.GaugeVec
	ready    *prometheus.GaugeVec
}

func newPolicyMetrics(f factory) policyMetrics {
	return policyMetrics{
		releases: f.gauge("policy_releases", "Releases that a policy matches, by what became of them.", "policy",
			"state"),
		ready: f.gauge("policy_ready", "1 for a policy that is ready, 0 for one that is not.", "policy"),
	}
}

// PolicyState is what the metrics tell of a policy: whether it is ready, and its releases by state.
type PolicyState struct {
	Ready    bool
	Releases map[string]int
}

// Policies sets what the metrics tell of policies, by name, to what is given.
func (m *Metrics) Policies(states map[string]PolicyState) {
	m.policy.releases.Reset()
	m.policy.ready.Reset()
	for name, s := range states {
		ready := 0.0
		if s.Ready {
			ready = 1
		}
		m.policy.ready.WithLabelValues(name).Set(ready)
		for state, n := range s.Releases {
			m.policy.releases.WithLabelValues(name, state).Set(float64(n))
		}
	}
}
