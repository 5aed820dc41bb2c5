package events

import (
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestTheLifeOfAChange(t *testing.T) {
	locked := time.Date(2026, 1, 2, 12, 0, 0, 250e6, time.UTC)
	after := locked.Add
	second := func(d time.Duration) time.Time { return after(d).Truncate(time.Second) }
	modified, removed := drift.Change{Path: "/a", Op: drift.Modified}, drift.Change{Path: "/b", Op: drift.Removed}
	for name, tc := range map[string]struct {
		first         bool // not judged before
		began         time.Time
		changed, seen time.Time
		change        drift.Change
		want          string
		since         v1alpha1.DriftSince
	}{
		"the watch event counts for what the operator saw happen": {
			changed: second(time.Hour), seen: after(time.Hour), change: modified,
			want: "in 16ms", since: v1alpha1.DriftSinceObserved,
		},
		"also when the API server's clock is behind by less than a gap": {
			changed: second(time.Hour - 4*time.Second), seen: after(time.Hour), change: modified,
			want: "in 16ms", since: v1alpha1.DriftSinceObserved,
		},
		"or ahead": {
			changed: second(2 * time.Hour), seen: after(time.Hour), change: modified,
			want: "in 16ms", since: v1alpha1.DriftSinceObserved,
		},
		"what a watch delivered late counts from the change": {
			changed: second(time.Hour - time.Minute), seen: after(time.Hour), change: modified,
			want: "1m0s after the change", since: v1alpha1.DriftSinceChanged,
		},
		"what was changed while no operator ran counts from the change": {
			first: true, changed: second(time.Minute), seen: after(time.Hour), change: modified,
			want: "59m0s after the change", since: v1alpha1.DriftSinceChanged,
		},
		"a time in whole seconds is never less than one": {
			first: true, changed: second(time.Hour), seen: after(time.Hour), change: modified,
			want: "1s after the change", since: v1alpha1.DriftSinceChanged,
		},
		"what is older than the lock counts from the lock": {
			first: true, changed: second(-time.Hour), seen: after(time.Second), change: modified,
			want: "1.016s after the lock began", since: v1alpha1.DriftSinceLocked,
		},
		"what managedFields do not tell counts from the lock": {
			first: true, seen: after(time.Second), change: modified,
			want: "1.016s after the lock began", since: v1alpha1.DriftSinceLocked,
		},
		"nor do they tell when something was removed": {
			first: true, changed: second(time.Minute), seen: after(time.Hour), change: removed,
			want: "1h0m0.016s after the lock began", since: v1alpha1.DriftSinceLocked,
		},
		"a lock that an earlier process began has whole seconds": {
			first: true, began: second(0), seen: after(time.Hour), change: removed,
			want: "1h0m0s after the lock began", since: v1alpha1.DriftSinceLocked,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.began.IsZero() {
				tc.began = locked
			}
			v := &Drift{Work: &lock.Work{First: tc.first, Observation: lock.Observation{Seen: tc.seen}}}
			p := Portion{Attribution: drift.Attribution{Author: drift.Author{Manager: "x", Time: tc.changed},
				Changes: []drift.Change{tc.change}}}
			got := v.Life(&lock.Lock{Began: tc.began}, p, tc.seen.Add(16*time.Millisecond))
			check.That(t, got.String() == tc.want && got.Since == tc.since, "got %s, since %s, want %s", got, got.Since,
				tc.want)
		})
	}
}

// A change that the API server refused to restore began before the one beside it.
func TestLifeOfARefusedChange(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	refused, later := drift.Change{Path: "/a", Op: drift.Modified}, drift.Change{Path: "/b", Op: drift.Modified}
	v := &Drift{Work: &lock.Work{Observation: lock.Observation{Seen: now.Add(-time.Second)},
		Refusal: &lock.Refusal{Changes: []drift.Change{refused}, Seen: now.Add(-time.Minute)}}}
	for want, changes := range map[string][]drift.Change{"in 1s": {later}, "in 1m0s": {refused, later}} {
		p := Portion{Attribution: drift.Attribution{Changes: changes}}
		got := v.Life(&lock.Lock{}, p, now)
		check.That(t, got.String() == want, "%v: got %s, want %s", changes, got, want)
	}
}
