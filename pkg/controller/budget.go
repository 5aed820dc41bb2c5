package controller

import (
	"context"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/status"
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

// budget bounds the time to decode and parse the records of one release and of one namespace, and to compare their
// declared objects. It is safe for concurrent use.
type budget struct{ releases, namespaces *fair.Rate }

func newBudget() *budget {
	rate := func(burst time.Duration) *fair.Rate {
		return fair.NewRate(workingShare, burst.Seconds(), longestDebt.Seconds())
	}
	return &budget{releases: rate(releaseBurst), namespaces: rate(namespaceBurst)}
}

// spend records the duration of work on a release until now.
func (b *budget) spend(key release.Key, now time.Time, took time.Duration) {
	b.releases.Use(key.String(), now, took.Seconds())
	b.namespaces.Use(key.Namespace, now, took.Seconds())
}

// wait returns the time until the next record of a release may be read; zero for now.
func (b *budget) wait(key release.Key, now time.Time) time.Duration {
	return max(b.releases.Wait(key.String(), now), b.namespaces.Wait(key.Namespace, now))
}

// mayRead waits until the budget allows a read of the records of a release. Its error is the one of ctx.
func (lo *loader) mayRead(ctx context.Context, key release.Key) error {
	for {
		wait := lo.budget.wait(key, lo.Clock.Now())
		if wait == 0 {
			return nil
		}
		timer := lo.Clock.NewTimer(wait)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// readLater schedules the read of a record after wait. It reports whether a lock at the same record exists, and
// continues until then.
func (rs *releases) readLater(key string, rec release.Record, wait time.Duration) (goesOn bool) {
	old := rs.table.Get(key)
	goesOn = old != nil && old.Record.Same(rec)
	if !goesOn {
		rs.unlock(key, status.Problemf(v1alpha1.ReasonLocking,
			"what changes of release %s, or of others in its namespace, takes so long to read and to "+
				"compare that the next record waits; make the releases smaller, or change them less often", rec.Key))
	}
	rs.entries.update(key, func(e *entry) { e.reload = true })
	rs.queues.releases.AddAfter(key, wait)
	return goesOn
}
