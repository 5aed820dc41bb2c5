package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// How long the records of one namespace may be read: readingBurst at once, then a share of the time of one processor.
const (
	readingBurst = 30 * time.Second
	readingShare = 0.25
)

// readingBudget bounds the time that goes into decoding and parsing the records of one namespace. It is safe for
// concurrent use; the zero value is full.
type readingBudget struct {
	mu    sync.Mutex
	spent map[string]spending // by namespace
}

// spending is how much of its burst a namespace had spent at a time.
type spending struct {
	spent time.Duration
	at    time.Time
}

// left returns what is spent at now, after the share of the time since. No time has passed when the clock was set back.
func (s spending) left(now time.Time) time.Duration {
	return max(0, s.spent-time.Duration(readingShare*float64(max(0, now.Sub(s.at)))))
}

// spend counts a record of a namespace that took so long until now.
func (b *readingBudget) spend(namespace string, now time.Time, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[string]spending{}
	}
	b.spent[namespace] = spending{spent: b.spent[namespace].left(now) + took, at: now}
}

// wait returns how long the next record of a namespace has to wait at now, zero if it has not.
func (b *readingBudget) wait(namespace string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, known := b.spent[namespace]
	left := s.left(now)
	switch {
	case left == 0:
		delete(b.spent, namespace)
	case known && now.Before(s.at): // or a clock that was set back would stop the budget until that time comes again
		b.spent[namespace] = spending{spent: left, at: now}
	}
	if left < readingBurst {
		return 0
	}
	return time.Duration(float64(left-readingBurst)/readingShare) + time.Millisecond
}

// mayRead waits until the records of a namespace may be read. Its error is that of ctx.
func (lo *loader) mayRead(ctx context.Context, namespace string) error {
	for {
		wait := lo.budget.wait(namespace, lo.Clock.Now())
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

// readLater has a record read when its namespace may again. A lock at the same record goes on meanwhile.
func (rs *releases) readLater(key string, rec release.Record, wait time.Duration) {
	if old := rs.table.Get(key); old == nil || !old.Record.Same(rec) {
		rs.unlock(key, problem{v1alpha1.ReasonLocking,
			fmt.Sprintf("reading the release records of namespace %s took so long that the next one waits; "+
				"make its releases smaller, or change them less often", rec.Key.Namespace)})
	}
	rs.entries.update(key, func(e *entry) { e.reload = true })
	rs.queues.releases.AddAfter(key, wait)
}
