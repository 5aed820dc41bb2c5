package controller

import (
	"fmt"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
)

// life is how long a change lived, and what that is counted from; no since for one that lives on.
type life struct {
	span  time.Duration
	since v1alpha1.DriftSince
}

// String completes "restored": "in 16ms", "1h2m3s after the change", "15ms after the lock began".
func (l life) String() string {
	switch l.since {
	case v1alpha1.DriftSinceChanged:
		return fmt.Sprintf("%s after the change", l.span)
	case v1alpha1.DriftSinceLocked:
		return fmt.Sprintf("%s after the lock began", l.span.Round(time.Millisecond))
	}
	return fmt.Sprintf("in %s", l.span.Round(time.Millisecond))
}

// missedAfter is how much older than its watch event a change must be for the watch to have missed it. managedFields
// have whole seconds, by the clock of an API server.
const missedAfter = 5 * time.Second

// life returns how long what one author changed lived until now.
//
// The operator saw a change happen if the object was as declared under this lock before, and the watch event came in
// time. Then the watch event counts, which is exact to the millisecond. Else the time in managedFields counts, unless
// the change is older than the lock, or nothing tells its time.
func (v *result) life(l *lock.Lock, p portion, now time.Time) life {
	changed := p.changedAt()
	switch known := changed.After(l.Began); {
	case known && (v.First || v.Seen.Sub(changed) > missedAfter):
		return life{max(now.Sub(changed).Round(time.Second), time.Second), v1alpha1.DriftSinceChanged}
	case v.First:
		return life{since(l.Began, now), v1alpha1.DriftSinceLocked}
	}
	return life{since(v.Seen, now), v1alpha1.DriftSinceObserved}
}

// changedAt returns when the author changed the object; zero when that is not known. Of a removal managedFields tell no
// time: they have the last time that its author set something.
func (p portion) changedAt() time.Time {
	for _, c := range p.Changes {
		if c.Op != drift.Removed {
			return p.Time
		}
	}
	return time.Time{}
}

// since returns the time from begin, which has whole seconds if it was read from the API, to now.
func since(begin, now time.Time) time.Duration {
	precision := 100 * time.Microsecond
	if begin.Nanosecond() == 0 {
		precision = time.Second
	}
	return max(now.Sub(begin).Round(precision), 0)
}
