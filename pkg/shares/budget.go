package shares

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/release"
)

// The processor time for the records of one namespace, and of one release: a burst at once, then a share of one
// processor. The share of a release is smaller than the one of its namespace. So a constantly changing release is
// limited from the start, while many releases of a namespace are locked at full speed.
const (
	namespaceBurst = 30 * time.Second
	releaseBurst   = 5 * time.Second
	workingShare   = 0.25
	// longestDebt bounds the debt, and so the wait of a record: 20 s. The debt exceeds the burst when a busy machine
	// needs long for one record, and with constant comparisons, because these continue on an empty budget.
	longestDebt = 5 * time.Second
)

// Budget bounds the time to decode and parse the records of one release and of one namespace, and to compare their
// declared objects. It is safe for concurrent use.
type Budget struct {
	clock                clock.WithTicker
	releases, namespaces *fair.Rate
}

// NewBudget returns a full budget.
func NewBudget(clock clock.WithTicker) *Budget {
	rate := func(burst time.Duration) *fair.Rate {
		return fair.NewRate(workingShare, burst.Seconds(), longestDebt.Seconds())
	}
	return &Budget{clock: clock, releases: rate(releaseBurst), namespaces: rate(namespaceBurst)}
}

// Spend records the duration of work on a release until now.
func (b *Budget) Spend(key release.Key, now time.Time, took time.Duration) {
	b.releases.Use(key.String(), now, took.Seconds())
	b.namespaces.Use(key.Namespace, now, took.Seconds())
}

// Wait returns the time until the next record of a release may be read; zero for now.
func (b *Budget) Wait(key release.Key, now time.Time) time.Duration {
	return max(b.releases.Wait(key.String(), now), b.namespaces.Wait(key.Namespace, now))
}

// Await waits until the budget allows a read of the records of a release. Its error is the one of ctx.
func (b *Budget) Await(ctx context.Context, key release.Key) error {
	for {
		wait := b.Wait(key, b.clock.Now())
		if wait == 0 {
			return nil
		}
		timer := b.clock.NewTimer(wait)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
