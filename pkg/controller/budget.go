package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
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

// budget bounds the time to decode and parse the records of one namespace, and to compare their declared objects. It is
// safe for concurrent use; the zero value is full.
type budget struct {
	mu    sync.Mutex
	spent map[release.Key]spending // a Key without a Name stands for its namespace
	tidy  int                      // number of entries to trigger a cleanup
}

// spending is the spent part of a burst at a time.
type spending struct {
	spent time.Duration
	at    time.Time
}

// left returns the spent time at now, less the share earned since. After the clock was set back, nothing is earned.
func (s spending) left(now time.Time) time.Duration {
	return max(0, s.spent-time.Duration(workingShare*float64(max(0, now.Sub(s.at)))))
}

// spend records the duration of work on a release until now.
func (b *budget) spend(key release.Key, now time.Time, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[release.Key]spending{}
	}
	b.add(key, releaseBurst, now, took)
	b.add(release.Key{Namespace: key.Namespace}, namespaceBurst, now, took)
	if len(b.spent) > b.tidy {
		maps.DeleteFunc(b.spent, func(_ release.Key, s spending) bool { return s.left(now) == 0 })
		b.tidy = 2*len(b.spent) + 100
	}
}

// add adds spent time. It drops debt beyond the burst and longestDebt.
func (b *budget) add(key release.Key, burst time.Duration, now time.Time, took time.Duration) {
	b.spent[key] = spending{spent: min(b.spent[key].left(now)+took, burst+longestDebt), at: now}
}

// wait returns the time until the next record of a release may be read; zero for now.
func (b *budget) wait(key release.Key, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.waitOf(key, releaseBurst, now), b.waitOf(release.Key{Namespace: key.Namespace}, namespaceBurst, now))
}

func (b *budget) waitOf(key release.Key, burst time.Duration, now time.Time) time.Duration {
	s, known := b.spent[key]
	left := s.left(now)
	if known && now.Before(s.at) { // else a clock set back would stop the budget until then
		b.spent[key] = spending{spent: left, at: now}
	}
	if left < burst {
		return 0
	}
	return time.Duration(float64(left-burst)/workingShare) + time.Millisecond
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
		rs.unlock(key, problem{v1alpha1.ReasonLocking,
			fmt.Sprintf("what changes of release %s, or of others in its namespace, takes so long to read and to "+
				"compare that the next record waits; make the releases smaller, or change them less often", rec.Key)})
	}
	rs.entries.update(key, func(e *entry) { e.reload = true })
	rs.queues.releases.AddAfter(key, wait)
	return goesOn
}
