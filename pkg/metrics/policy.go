package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Policies are the metrics of the process that follows HelmReleasePolicies.
type Policies struct {
	Process

	releases *prometheus.GaugeVec
	ready    *prometheus.GaugeVec
}

// NewPolicies returns the metrics of a process that follows policies.
func NewPolicies() *Policies {
	p, f := newProcess()
	return &Policies{
		Process: p,
		releases: f.gauge("policy_releases", "Releases that a policy matches, by what became of them.", "policy",
			"state"),
		ready: f.gauge("policy_ready", "1 for a policy that is ready, 0 for one that is not.", "policy"),
	}
}

// PolicyState holds the metrics of a policy: whether it is ready, and its releases by state.
type PolicyState struct {
	Ready    bool
	Releases map[string]int
}

// Set replaces the states of all policies, given by name.
func (m *Policies) Set(states map[string]PolicyState) {
	m.releases.Reset()
	m.ready.Reset()
	for name, s := range states {
		ready := 0.0
		if s.Ready {
			ready = 1
		}
		m.ready.WithLabelValues(name).Set(ready)
		for state, n := range s.Releases {
			m.releases.WithLabelValues(name, state).Set(float64(n))
		}
	}
}
