package judge

import (
	"fmt"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Range is an inclusive range of replica counts for an autoscaler to choose from.
type Range struct {
	Min, Max int64
	// Paused is the fixed number of a paused autoscaler, in the range or not; nil for none.
	Paused *int64
	// Any is set for an object By without a range.
	Any bool
	// By is the object of a Scaler.
	By manifest.ID
}

// Contains reports whether n is within the range.
func (r *Range) Contains(n int64) bool {
	return r != nil && (r.Min <= n && n <= r.Max || r.Paused != nil && *r.Paused == n)
}

// Within returns the number of replicas to restore when live is outside of the range: last, the last observed number
// within the range (nil for none), or the bound nearest to live. It is never fewer than wanted, the number that the
// autoscaler wanted last, zero when unknown. The manifest's own number does not count: the autoscaler has left it, and
// fewer replicas than the load needs are an outage.
func (r *Range) Within(live int64, last *int64, wanted int64) int64 {
	n := live
	if last != nil {
		n = *last
	}
	return min(max(n, wanted, r.Min), max(r.Max, r.Min))
}

// String returns "HorizontalPodAutoscaler web/podinfo sets 2 to 5 replicas".
func (r *Range) String() string {
	switch {
	case r.Any:
		return fmt.Sprintf("%s sets the number of replicas", r.By)
	case r.Paused != nil:
		return fmt.Sprintf("%s sets %d to %d replicas, and is paused at %d", r.By, r.Min, r.Max, *r.Paused)
	}
	return fmt.Sprintf("%s sets %d to %d replicas", r.By, r.Min, r.Max)
}
