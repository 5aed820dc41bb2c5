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

// How long the records of one namespace, and those of one release, may be worked on: a burst at once, then a share of
// the time of one processor. A release has less than its namespace, so that one that changes all the time takes a
// share from the start, while many releases of a namespace are locked at full speed.
const (
	namespaceBurst = 30 * time.Second
	releaseBurst   = 5 * time.Second
	workingShare   = 0.25
	// longestDebt bounds what may be owed, and so how long a record waits: 20 s. More is owed where a busy machine
	// takes long for one record, and where objects are compared all the time, which goes on when all is spent.
	longestDebt = 5 * time.Second
)

// budget bounds the time that goes into decoding and parsing the records of one namespace, and into comparing the
// objects that they declare. It is safe for concurrent use; the zero value is full.
type budget struct {
	mu    sync.Mutex
	spent map[release.Key]spending // a Key without a Name stands for its namespace
	tidy  int                      // with how many entries to look for those that are over
}

// spending is how much of its burst somebody had spent at a time.
type spending struct {
	spent time.Duration
	at    time.Time
}

// left returns what is spent at now, after the share of the time since. No time has passed when the clock was set back.
func (s spending) left(now time.Time) time.Duration {
	return max(0, s.spent-time.Duration(workingShare*float64(max(0, now.Sub(s.at)))))
}

// spend counts work on a release that took so long until now.
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

// add counts what was spent. It forgets what is owed beyond the burst and longestDebt.
func (b *budget) add(key release.Key, burst time.Duration, now time.Time, took time.Duration) {
	b.spent[key] = spending{spent: min(b.spent[key].left(now)+took, burst+longestDebt), at: now}
}

// wait returns how long the next record of a release has to wait at now, zero if it has not.
func (b *budget) wait(key release.Key, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.waitOf(key, releaseBurst, now), b.waitOf(release.Key{Namespace: key.Namespace}, namespaceBurst, now))
}

func (b *budget) waitOf(key release.Key, burst time.Duration, now time.Time) time.Duration {
	s, known := b.spent[key]
	left := s.left(now)
	if known && now.Before(s.at) { // or a clock that was set back would stop the budget until that time comes again
		b.spent[key] = spending{spent: left, at: now}
	}
	if left < burst {
		return 0
	}
	return time.Duration(float64(left-burst)/workingShare) + time.Millisecond
}

// mayRead waits until the records of a release may be read. Its error is that of ctx.
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

// readLater has a record read when its release may again. It reports whether there is a lock at the same record, which
// goes on meanwhile.
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
