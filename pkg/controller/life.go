package controller

import (
	"fmt"
	"slices"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
)

// life is the duration of a change, and its starting point; no since for a change still present.
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

// life returns the duration of one author's change until now.
//
// The operator saw the change happen if the object was as declared under this lock before, and the watch event came in
// time. Then the life starts at the watch event, exact to the millisecond. Otherwise it starts at the time in
// managedFields or, if that is unknown or from before the lock, with the lock.
func (v *result) life(l *lock.Lock, p portion, now time.Time) life {
	changed, seen := p.changedAt(), v.seenFirst(p.Changes)
	switch known := changed.After(l.Began); {
	case known && (v.First || seen.Sub(changed) > missedAfter):
		return life{max(now.Sub(changed).Round(time.Second), time.Second), v1alpha1.DriftSinceChanged}
	case v.First:
		return life{since(l.Began, now), v1alpha1.DriftSinceLocked}
	}
	return life{since(seen, now), v1alpha1.DriftSinceObserved}
}

// seenFirst returns the time at which changes were seen first: those that the API server has refused to restore were
// seen before the others.
func (v *result) seenFirst(changes []drift.Change) time.Time {
	refused := func(c drift.Change) bool { return slices.Contains(v.Refusal.Changes, c) }
	if v.Refusal != nil && slices.ContainsFunc(changes, refused) {
		return v.Refusal.Seen
	}
	return v.Seen
}

// changedAt returns the time of the author's change; zero when it is unknown. managedFields have no time of a removal:
// their time is the last one at which its author set something.
func (p portion) changedAt() time.Time {
	for _, c := range p.Changes {
		if c.Op != drift.Removed {
			return p.Time
		}
	}
	return time.Time{}
}

// since returns the time from begin to now. A begin read from the API has whole seconds.
func since(begin, now time.Time) time.Duration {
	precision := 100 * time.Microsecond
	if begin.Nanosecond() == 0 {
		precision = time.Second
	}
	return max(now.Sub(begin).Round(precision), 0)
}
