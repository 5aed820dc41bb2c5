package lock

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestReconsider(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	id := manifest.ID{Kind: "ConfigMap", Name: "a"}
	ids := map[manifest.ID]struct{}{id: {}, {Kind: "ConfigMap", Name: "unknown"}: {}}
	take := func(t *testing.T, l *Lock) *Work {
		t.Helper()
		work, _ := l.Take(now)
		check.Must(t, len(work) == 1, "%d objects to work on", len(work))
		return work[0]
	}
	seen := Observation{Live: &unstructured.Unstructured{}, Version: 7, Digest: 3, Seen: now}
	for name, test := range map[string]func(t *testing.T, l *Lock, w *Work){
		"one that waits is judged by what was seen": func(t *testing.T, l *Lock, w *Work) {
			check.That(t, !l.Done(id, Outcome{Again: &w.Observation, Waits: true, Now: now}), "it does not wait")
			work, _ := l.Take(now)
			check.That(t, len(work) == 0, "it does not wait")
			check.That(t, l.Reconsider(now, ids) && take(t, l).Version == 7, "it is looked at again")
		},
		"one in flight is looked at again afterwards": func(t *testing.T, l *Lock, w *Work) {
			check.That(t, !l.Reconsider(now, ids), "a worker should come, and the object is in flight")
			check.That(t, l.Done(id, Outcome{Again: &w.Observation, Waits: true, Now: now}) && take(t, l).NeedsGet,
				"what has changed meanwhile is missed")
		},
		"one that was judged is looked at again": func(t *testing.T, l *Lock, w *Work) {
			l.Done(id, Outcome{Reported: true, Digest: w.Digest, Now: now})
			check.That(t, l.Reconsider(now, ids) && take(t, l).NeedsGet, "it is not")
		},
		"a newer look ends the wait": func(t *testing.T, l *Lock, w *Work) {
			l.Done(id, Outcome{Again: &w.Observation, Waits: true, Now: now})
			newer := seen
			newer.Version, newer.Digest = 8, 4
			check.That(t, l.Observe(id, newer) && take(t, l).Version == 8, "it does not")
		},
		"a lock that has ended needs nothing": func(t *testing.T, l *Lock, _ *Work) {
			l.Close()
			check.That(t, !l.Reconsider(now, ids), "it does")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(&Lock{}, []*Object{{ID: id, Kind: &Kind{}}})
			l.Observe(id, seen)
			test(t, l, take(t, l))
		})
	}
}

// A list without an object is newer than the last observation of the waiting object.
func TestAnObjectThatWaitsIsLookedAtAgainAfterAList(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	w := take(t, l, epoch, 1)[0]
	again := w.Observation
	l.Done(w.ID, Outcome{Again: &again, Waits: true, Now: epoch})
	take(t, l, epoch, 0)
	check.Must(t, l.Recheck(epoch.Add(time.Minute), nil), "nobody is woken")
	w = take(t, l, epoch.Add(time.Minute), 1)[0]
	check.That(t, w.NeedsGet && w.Seen == epoch, "it is judged by what was seen before: %+v", w.Observation)
}
