package lock

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

var (
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	epoch      = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

func id(name string) manifest.ID {
	return manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: name}
}

func objects(names ...string) []*Object {
	var all []*Object
	for _, name := range names {
		all = append(all, &Object{ID: id(name), Kind: &Kind{GVK: configMaps}})
	}
	return all
}

func seen(version, digest uint64, at time.Time) Observation {
	return Observation{Live: &unstructured.Unstructured{}, Version: version, Digest: digest, Seen: at}
}

func take(t *testing.T, l *Lock, now time.Time, want int) []*Work {
	t.Helper()
	work, _ := l.Take(now)
	check.Must(t, len(work) == want, "took %d objects, want %d", len(work), want)
	return work
}

// judged returns a lock of one object "a" that was judged good with digest 1 at version 10.
func judged(t *testing.T) *Lock {
	t.Helper()
	l := New(&Lock{Key: "ns/hr"}, objects("a"))
	check.Must(t, l.Observe(id("a"), seen(10, 1, epoch)), "the first look wakes nobody")
	w := take(t, l, epoch, 1)[0]
	check.That(t, w.First, "an object that was never judged is not First")
	check.That(t, !l.Done(w.ID, Outcome{Good: true, Digest: 1, Version: 10, Now: epoch}),
		"a good object wakes somebody")
	return l
}

func TestObserveSkipsWhatIsGoodOrOld(t *testing.T) {
	cases := map[string]struct {
		look Observation
		wake bool
	}{
		"other content wakes":                            {seen(11, 2, epoch), true},
		"good content at a newer version does not":       {seen(11, 1, epoch), false},
		"other content at the same version does not":     {seen(10, 2, epoch), false},
		"other content at an older version does not":     {seen(9, 2, epoch), false},
		"a look without a version is always news":        {seen(0, 2, epoch), true},
		"an object that may be gone wakes":               {Observation{NeedsGet: true, Version: 11}, true},
		"a deletion older than the last look does not":   {Observation{NeedsGet: true, Version: 9}, false},
		"good content without a version does not either": {seen(0, 1, epoch), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := judged(t)
			check.Equal(t, l.Observe(id("a"), tc.look), tc.wake, "wake")
		})
	}
}

func TestDriftThatEndsBeforeAnyoneCameIsForgotten(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	l.Observe(id("a"), seen(12, 1, epoch))
	take(t, l, epoch, 0)
}

func TestDriftSeenWhileTheObjectIsInFlightIsNotLost(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	w := take(t, l, epoch, 1)[0]
	check.That(t, !l.Observe(id("a"), seen(13, 3, epoch)), "an object in flight is handed out twice")
	take(t, l, epoch, 0)
	// The worker wrote at version 12, before the newer drift.
	check.Must(t, l.Done(w.ID, Outcome{Good: true, Digest: 1, Version: 12, Now: epoch}),
		"nobody comes for the newer drift")
	w = take(t, l, epoch, 1)[0]
	check.That(t, w.Digest == 3 && !w.First, "took digest %d, first %v", w.Digest, w.First)
}

func TestAnEventOlderThanOurOwnWriteIsNotDrift(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	w := take(t, l, epoch, 1)[0]
	l.Observe(id("a"), seen(12, 3, epoch)) // drifted again; the worker's write at 13 comes after it
	check.That(t, !l.Done(w.ID, Outcome{Good: true, Digest: 1, Version: 13, Now: epoch}),
		"the write at 13 says how the object is; the look at 12 is history")
	check.That(t, !l.Observe(id("a"), seen(13, 1, epoch)), "the event of our own write wakes somebody")
}

func TestReportedDriftIsNoNewsButStaysAProblem(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	w := take(t, l, epoch, 1)[0]
	l.Done(w.ID,
		Outcome{Reported: true, Digest: 2, Problem: &Problem{Reason: "DriftDetected", Drifted: true}, Now: epoch})
	check.That(t, !l.Observe(id("a"), seen(12, 2, epoch)), "the same drift is reported twice")
	sum := l.Summarize(epoch)
	check.That(t, sum.Drifted == 1, "drifted is %d", sum.Drifted)
	check.Must(t, l.Observe(id("a"), seen(13, 1, epoch)), "nobody looks at the object that was restored")
	w = take(t, l, epoch, 1)[0]
	l.Done(w.ID, Outcome{Good: true, Digest: 1, Version: 13, Now: epoch})
	sum = l.Summarize(epoch)
	check.That(t, sum.Drifted == 0, "drifted is %d after it was restored", sum.Drifted)
}

func TestAClosedLockHandsOutAndKeepsNothing(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	l.Close()
	take(t, l, epoch, 0)
	check.That(t,
		!l.Observe(id("a"), seen(12, 3, epoch)) && !l.Recheck(epoch, nil) && !l.Done(id("a"), Outcome{Again: &Observation{}}),
		"a closed lock wakes somebody")
}

func TestRecheckMarksWhatMatchesAndIsNotWaitingAlready(t *testing.T) {
	l := New(&Lock{Key: "ns/hr"}, objects("a", "b", "c"))
	l.Observe(id("a"), seen(5, 7, epoch))
	check.Must(t, l.Recheck(epoch, func(o *Object) bool { return o.ID != id("c") }), "nobody comes")
	for _, w := range take(t, l, epoch, 2) {
		check.Equal(t, w.NeedsGet, w.ID == id("b"), "%s: look", w.ID)
	}
	sum := l.Summarize(epoch)
	check.That(t, sum.Tracked == 3 && sum.Unjudged == 3, "summary %+v", sum)
}

func TestWhatIsLearntComesBackWithTheNextDrift(t *testing.T) {
	l := New(&Lock{Key: "ns/hr"}, objects("a"))
	l.Observe(id("a"), seen(10, 1, epoch))
	w := take(t, l, epoch, 1)[0]
	l.Done(w.ID, Outcome{Good: true, Digest: 1, Version: 10, Baseline: drift.Baseline{"/x": 3},
		Owner: drift.Owner{Manager: "flux"}, Now: epoch})
	l.Observe(id("a"), seen(11, 2, epoch))
	w = take(t, l, epoch, 1)[0]
	check.That(t, w.Baseline["/x"] == 3 && w.Owner.Manager == "flux", "baseline %v, owner %v", w.Baseline, w.Owner)
}

func TestAFightWaitsInTheLockAndShowsInTheSummary(t *testing.T) {
	l := judged(t)
	now := epoch
	fights := 0
	for i := uint64(0); i <= revertBurst; i++ {
		l.Observe(id("a"), seen(11+2*i, 2, now))
		w := take(t, l, now, 1)[0]
		if l.RecordRevert(w.ID, now, now, []string{"/data/key"}) {
			fights++
		}
		l.Done(w.ID, Outcome{Good: true, Digest: 1, Version: 12 + 2*i, Now: now})
	}
	check.Must(t, fights == 1, "%d fights were announced", fights)
	l.Observe(id("a"), seen(100, 2, now))
	work, after := l.Take(now)
	check.That(t, len(work) == 0 && after == time.Second, "took %d, wait %s", len(work), after)
	sum := l.Summarize(now)
	check.That(t, sum.Contended == 1 && sum.Fights[0] == id("a") && sum.Drifted == 1 && !sum.QuietAt.IsZero(),
		"summary %+v", sum)
	take(t, l, now.Add(time.Second), 1)
}

func TestALockIsCompleteOnceAndWhenAllItsObjectsAreJudged(t *testing.T) {
	l := New(&Lock{Key: "ns/hr"}, objects("a", "b"))
	settle := func(name string, o Outcome) {
		l.Observe(id(name), seen(10, 1, epoch))
		o.Now = epoch
		l.Done(take(t, l, epoch, 1)[0].ID, o)
	}
	check.That(t, !l.Complete(), "complete before anything was judged")
	settle("a", Outcome{Good: true, Digest: 1, Version: 10})
	check.That(t, !l.Complete(), "complete while b was not judged")
	settle("b", Outcome{Problem: &Problem{Reason: "Waiting"}})
	check.That(t, l.Complete(), "not complete although what can be judged is, and the rest has a problem")
	check.That(t, !l.Complete(), "complete a second time")
}

// Whether an object was deleted or is missing depends on whether it was seen, by a watch or by a worker.
func TestAnObjectExistedOnceItWasSeen(t *testing.T) {
	gone := &unstructured.Unstructured{}
	for name, test := range map[string]struct {
		observed Observation
		outcome  Outcome
		want     bool
	}{
		"never":               {Observation{NeedsGet: true}, Outcome{Reported: true}, false},
		"by a watch":          {seen(10, 1, epoch), Outcome{Failed: true, Again: &Observation{}}, true},
		"in its deletion":     {Observation{Last: gone, ReportedGone: true}, Outcome{Reported: true}, true},
		"by a worker":         {Observation{NeedsGet: true}, Outcome{Reported: true, Digest: 1}, true},
		"in a request":        {Observation{NeedsGet: true}, Outcome{Reported: true}, true},
		"when it was created": {Observation{NeedsGet: true}, Outcome{Good: true, Digest: 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(&Lock{Key: "ns/hr"}, objects("a"))
			l.Observe(id("a"), test.observed)
			l.RecordRequest(id("a"), Request{Deletion: name == "in a request"})
			test.outcome.Now = epoch
			l.Done(take(t, l, epoch, 1)[0].ID, test.outcome)
			l.Observe(id("a"), Observation{NeedsGet: true})
			w := take(t, l, epoch.Add(time.Hour), 1)[0]
			check.That(t, w.Existed == test.want, "it existed: %v", w.Existed)
		})
	}
}

// Of a large object that waits for its next attempt, nothing is kept: there may be hundreds.
func TestALargeObjectIsNotKeptWhileItWaits(t *testing.T) {
	l := New(&Lock{Key: "ns/hr"}, objects("a"))
	l.Observe(id("a"), Observation{Large: true, NeedsGet: true, Version: 10, Seen: epoch})
	w := take(t, l, epoch, 1)[0]
	found := seen(10, 2, epoch)
	found.Large = true
	l.Done(w.ID, Outcome{Again: &found, Now: epoch})
	w = take(t, l, epoch, 1)[0]
	check.That(t, w.Live == nil && w.NeedsGet && w.Large && w.Seen == epoch, "kept %+v", w.Observation)
	found.Large = false
	l.Done(w.ID, Outcome{Again: &found, Now: epoch})
	w = take(t, l, epoch, 1)[0]
	check.That(t, w.Live != nil && !w.NeedsGet, "a small one is looked at again: %+v", w.Observation)
}

func TestWhatIsNeededOfAnObjectThatIsGone(t *testing.T) {
	check.That(t, Essence(nil) == nil, "nothing has become something")
	last := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"a": strings.Repeat("a", 1<<20)},
		"status": map[string]any{"succeeded": int64(1)},
	}}
	last.SetName("a")
	last.SetAnnotations(map[string]string{"note": strings.Repeat("a", 1<<18)})
	last.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "helm",
		Operation: metav1.ManagedFieldsOperationUpdate}})
	kept := Essence(last)
	check.That(t,
		kept.GetName() == "a" && kept.GetKind() == "Job" && kept.Object["status"] != nil && len(kept.GetManagedFields()) == 1,
		"kept %v", kept.Object)
	check.That(t, kept.Object["spec"] == nil && kept.GetAnnotations() == nil, "what may be large is kept")
}
