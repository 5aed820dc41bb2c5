package events

import (
	"fmt"
	"slices"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
)

// Life is the duration of a change, and its starting point; no Since for a change still present.
type Life struct {
	Span  time.Duration
	Since v1alpha1.DriftSince
}

// String completes "restored": "in 16ms", "1h2m3s after the change", "15ms after the lock began".
func (l Life) String() string {
	switch l.Since {
	case v1alpha1.DriftSinceChanged:
		return fmt.Sprintf("%s after the change", l.Span)
	case v1alpha1.DriftSinceLocked:
		return fmt.Sprintf("%s after the lock began", l.Span.Round(time.Millisecond))
	}
	return fmt.Sprintf("in %s", l.Span.Round(time.Millisecond))
}

// missedAfter is how much older than its watch event a change must be for the watch to have missed it. managedFields
// have whole seconds, by the clock of an API server.
const missedAfter = 5 * time.Second

// Life returns the duration of one author's change until now.
//
// The operator saw the change happen if the object was as declared under this lock before, and the watch event came in
// time. Then the life starts at the watch event, exact to the millisecond. Otherwise it starts at the time in
// managedFields or, if that is unknown or from before the lock, with the lock.
func (d *Drift) Life(l *lock.Lock, p Portion, now time.Time) Life {
	changed, seen := p.changedAt(), d.SeenFirst(p.Changes)
	switch known := changed.After(l.Began); {
	case known && (d.First || seen.Sub(changed) > missedAfter):
		return Life{max(now.Sub(changed).Round(time.Second), time.Second), v1alpha1.DriftSinceChanged}
	case d.First:
		return Life{since(l.Began, now), v1alpha1.DriftSinceLocked}
	}
	return Life{since(seen, now), v1alpha1.DriftSinceObserved}
}

// SeenFirst returns the time at which changes were seen first: those that the API server has refused to restore were
// seen before the others.
func (d *Drift) SeenFirst(changes []drift.Change) time.Time {
	refused := func(c drift.Change) bool { return slices.Contains(d.Refusal.Changes, c) }
	if d.Refusal != nil && slices.ContainsFunc(changes, refused) {
		return d.Refusal.Seen
	}
	return d.Seen
}

// changedAt returns the time of the author's change; zero when it is unknown. managedFields have no time of a removal:
// their time is the last one at which its author set something.
func (p Portion) changedAt() time.Time {
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
