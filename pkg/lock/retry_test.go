package lock

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAFailedAttemptWaitsLongerEveryTimeAndAtMostAMinute(t *testing.T) {
	l := judged(t)
	now := epoch
	l.Observe(id("a"), seen(11, 2, now))
	last := time.Duration(0)
	for range 12 {
		w := take(t, l, now, 1)[0]
		again := w.Observation
		l.Done(w.ID,
			Outcome{Again: &again, Failed: true, Problem: &Problem{Reason: "RevertFailed", Drifted: true}, Now: now})
		work, after := l.Take(now)
		check.Must(t, len(work) == 0 && after >= last && after <= retryMaxRefused,
			"took %d, next attempt after %s, before that %s", len(work), after, last)
		last = after
		now = now.Add(after)
	}
	check.Equal(t, last, time.Minute, "the last wait")
	w := take(t, l, now, 1)[0]
	check.Equal(t, w.Failures, 12, "failures")
	l.Done(w.ID, Outcome{Good: true, Digest: 1, Version: 20, Now: now})
	sum := l.Summarize(now)
	check.That(t, sum.Drifted == 0 && len(sum.Problems) == 0, "after success: %+v", sum)
}

func TestAnAttemptWithoutAnswerIsRepeatedSoon(t *testing.T) {
	l := judged(t)
	now := epoch
	l.Observe(id("a"), seen(11, 2, now))
	for range 20 {
		w := take(t, l, now, 1)[0]
		again := w.Observation
		l.Done(w.ID, Outcome{Again: &again, Failed: true, Transient: true, Now: now})
		_, after := l.Take(now)
		check.Must(t, after <= retryMaxTransient, "waits %s", after)
		now = now.Add(after)
	}
}

func TestRetryEndsTheWaitAfterAFailure(t *testing.T) {
	in := func(name string) func(*Object) bool { return func(o *Object) bool { return o.ID.Name == name } }
	l := New(&Lock{Key: "ns/hr"}, objects("a", "b"))
	failed := Outcome{Again: &Observation{}, Failed: true, Now: epoch}
	l.Observe(id("a"), Observation{})
	l.Observe(id("b"), Observation{})
	for _, w := range take(t, l, epoch, 2) {
		l.Done(w.ID, failed)
	}
	take(t, l, epoch, 0)
	check.That(t, !l.Retry(in("c")), "a retry of nothing wakes somebody")
	check.That(t, l.Retry(in("a")), "the retry wakes nobody")
	work := take(t, l, epoch, 1)
	check.That(t, work[0].ID == id("a") && !l.Retry(in("a")), "what is not waiting is woken")
	// The retry came while this attempt was under way.
	l.Done(id("a"), failed)
	take(t, l, epoch, 1)
	l.Done(id("a"), failed)
	take(t, l, epoch, 0)
}

// A standby may not revert: it keeps what it saw until its content changes, or it may.
func TestWhatWaitsIsHandedOutAgainWithOtherContentOrAfterResume(t *testing.T) {
	l := judged(t)
	park := func(version, digest uint64) {
		t.Helper()
		w := take(t, l, epoch, 1)[0]
		check.Must(t, w.Digest == digest && w.Version == version, "took content %d at version %d", w.Digest, w.Version)
		again := w.Observation
		check.That(t, !l.Done(w.ID, Outcome{Again: &again, Waits: true, Problem: &Problem{Drifted: true}, Now: epoch}),
			"what waits wakes somebody")
		take(t, l, epoch, 0)
	}
	check.Must(t, l.Observe(id("a"), seen(11, 2, epoch)), "drift wakes nobody")
	park(11, 2)
	check.That(t, !l.Observe(id("a"), seen(12, 2, epoch)), "the same content wakes somebody")
	take(t, l, epoch, 0)
	check.That(t, l.Observe(id("a"), seen(13, 3, epoch)), "other content wakes nobody")
	park(13, 3)
	check.That(t, !l.Observe(id("a"), seen(14, 3, epoch)), "the same content wakes somebody")
	check.That(t, l.Resume(), "the end of waiting wakes nobody")
	check.That(t, !l.Resume(), "it wakes somebody twice")
	park(14, 3) // the newest look
	check.That(t, !l.Observe(id("a"), seen(15, 1, epoch)) && !l.Resume(), "content that is good again wakes somebody")
	l.Observe(id("a"), seen(16, 2, epoch))
	w := take(t, l, epoch, 1)[0]
	l.Observe(id("a"), seen(17, 3, epoch))
	again := w.Observation
	check.That(t, l.Done(w.ID, Outcome{Again: &again, Waits: true, Now: epoch}), "a newer look does not wake anybody")
	l.Close()
	check.That(t, !l.Resume(), "a lock that has ended wakes somebody")
}

func TestReconsider(t *testing.T) {
	id, ids := id("a"), map[manifest.ID]struct{}{id("a"): {}, id("unknown"): {}}
	next := func(t *testing.T, l *Lock) *Work { t.Helper(); return take(t, l, epoch, 1)[0] }
	for name, test := range map[string]func(t *testing.T, l *Lock, w *Work){
		"one that waits is judged by what was seen": func(t *testing.T, l *Lock, w *Work) {
			check.That(t, !l.Done(id, Outcome{Again: &w.Observation, Waits: true, Now: epoch}), "it does not wait")
			take(t, l, epoch, 0)
			check.That(t, l.Reconsider(epoch, ids) && next(t, l).Version == 7, "it is looked at again")
		},
		"one in flight is looked at again afterwards": func(t *testing.T, l *Lock, w *Work) {
			check.That(t, !l.Reconsider(epoch, ids), "a worker should come, and the object is in flight")
			check.That(t, l.Done(id, Outcome{Again: &w.Observation, Waits: true, Now: epoch}) && next(t, l).NeedsGet,
				"what has changed meanwhile is missed")
		},
		"one that was judged is looked at again": func(t *testing.T, l *Lock, w *Work) {
			l.Done(id, Outcome{Reported: true, Digest: w.Digest, Now: epoch})
			check.That(t, l.Reconsider(epoch, ids) && next(t, l).NeedsGet, "it is not")
		},
		"a newer look ends the wait": func(t *testing.T, l *Lock, w *Work) {
			l.Done(id, Outcome{Again: &w.Observation, Waits: true, Now: epoch})
			check.That(t, l.Observe(id, seen(8, 4, epoch)) && next(t, l).Version == 8, "it does not")
		},
		"a lock that has ended needs nothing": func(t *testing.T, l *Lock, _ *Work) {
			l.Close()
			check.That(t, !l.Reconsider(epoch, ids), "it does")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(&Lock{}, objects("a"))
			l.Observe(id, seen(7, 3, epoch))
			test(t, l, next(t, l))
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

// partly hands back the object of judged as restored but for one refused change, with digest 5 at version 20.
func partly(t *testing.T, l *Lock) {
	t.Helper()
	l.Observe(id("a"), seen(15, 4, epoch))
	w := take(t, l, epoch, 1)[0]
	l.Done(w.ID, partlyRefused())
}

func partlyRefused() Outcome {
	return Outcome{
		Good: true, Reported: true, Digest: 5, Version: 20, Failed: true, Problem: &Problem{Drifted: true},
		Again: &Observation{NeedsGet: true, Seen: epoch}, Now: epoch,
		Refused: &Refusal{Content: 5, Changes: []drift.Change{{Path: "/data/a", Op: drift.Modified}}},
	}
}

func TestNewContentIsNotHeldUpByARefusal(t *testing.T) {
	l := judged(t)
	partly(t, l)
	work, after := l.Take(epoch)
	check.Must(t, len(work) == 0 && after > 0, "the next attempt is made at once: %d, in %v", len(work), after)
	check.That(t, l.Observe(id("a"), seen(21, 6, epoch)), "a change of another field wakes nobody")
	w := take(t, l, epoch, 1)[0]
	check.That(t, w.Refusal != nil && w.Refusal.Content == 5, "the refusal is %+v", w.Refusal)
}

// The object may change, or be deleted, while a worker is refused again.
func TestI5_NewContentDuringARefusedAttemptIsNotHeldUp(t *testing.T) {
	for name, o := range map[string]Observation{"changed": seen(21, 6, epoch), "deleted": {Version: 21, Seen: epoch}} {
		t.Run(name, func(t *testing.T) {
			l := judged(t)
			partly(t, l)
			later := epoch.Add(retryMaxRefused)
			w := take(t, l, later, 1)[0]
			l.Observe(id("a"), o)
			l.Done(w.ID, Outcome{Failed: true, Again: &Observation{NeedsGet: true, Seen: epoch}, Now: later,
				Problem: &Problem{Drifted: true}, Refused: w.Refusal})
			take(t, l, later, 1)
		})
	}
}

// A watch may deliver the refused content itself during the attempt: late, or in the answer to a new watch. It is older
// than the attempt's own write.
func TestI5_OldContentDuringARefusedAttemptEndsNoWait(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), Observation{NeedsGet: true, Seen: epoch})
	w := take(t, l, epoch, 1)[0]
	l.Observe(id("a"), seen(15, 4, epoch))
	l.Done(w.ID, partlyRefused())
	work, after := l.Take(epoch)
	check.That(t, len(work) == 0 && after > 0, "the next attempt is made at once: %d, in %v", len(work), after)
}

// A large object is observed by its digest. Its content was refused, and only its status has changed.
func TestTheStatusOfALargeObjectEndsNoWait(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(15, 4, epoch))
	w := take(t, l, epoch, 1)[0]
	l.Done(w.ID, Outcome{Failed: true, Now: epoch, Problem: &Problem{Drifted: true}, Refused: &Refusal{Content: 4},
		Again: &Observation{NeedsGet: true, Seen: epoch}})
	l.Observe(id("a"), Observation{Large: true, NeedsGet: true, Version: 16, Digest: 4, Seen: epoch})
	take(t, l, epoch, 0)
	l.Observe(id("a"), Observation{Large: true, NeedsGet: true, Version: 17, Digest: 5, Seen: epoch})
	take(t, l, epoch, 1)
}

// A change beside refused ones does not begin with them.
func TestNewContentIsNewerThanARefusal(t *testing.T) {
	l, later := judged(t), epoch.Add(time.Hour)
	partly(t, l)
	l.Observe(id("a"), seen(21, 6, later))
	l.Observe(id("a"), seen(22, 7, later.Add(time.Second))) // before a worker takes the change
	w := take(t, l, later, 1)[0]
	check.That(t, w.Seen.Equal(later), "the change was seen at %s, want %s", w.Seen, later)
}

func TestARefusalIsTriedAgainWhateverIsSeen(t *testing.T) {
	l := judged(t)
	partly(t, l)
	if l.Observe(id("a"), seen(21, 5, epoch)) || !l.Known(id("a"), 22, 5) { // the status of the object, say
		t.Error("the content is the same and wakes somebody")
	}
	sum := l.Summarize(epoch)
	check.That(t, sum.Drifted == 1, "the summary is %+v", sum)
	w := take(t, l, epoch.Add(time.Minute), 1)[0]
	check.That(t, w.NeedsGet && w.Refusal != nil, "took %+v", w)
	l.Done(w.ID, Outcome{Good: true, Digest: 7, Version: 30, Now: epoch})
	check.That(t, l.Observe(id("a"), seen(31, 8, epoch)), "drift wakes nobody")
	w = take(t, l, epoch, 1)[0]
	check.That(t, w.Refusal == nil, "the refusal is over and remembered: %+v", w.Refusal)
}

// After a restored backup, resource versions begin again at lower ones.
func TestHostile_ObservationsOfARestoredBackupAreBelieved(t *testing.T) {
	l := judged(t)
	check.Must(t, !l.Observe(id("a"), seen(5, 2, epoch)), "an older observation counts")
	l.Rewind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	check.Must(t, !l.Observe(id("a"), seen(5, 2, epoch)), "it counts because another kind was restored")
	l.Rewind(configMaps)
	check.Must(t, !l.Known(id("a"), 5, 2) && l.Observe(id("a"), seen(5, 2, epoch)),
		"an observation of the restored backup does not count")
	// A worker has the object while versions begin again: the version that it hands back is of before.
	w := take(t, l, epoch, 1)[0]
	l.Rewind(configMaps)
	l.Done(w.ID, Outcome{Good: true, Digest: 2, Version: 11, Now: epoch})
	check.That(t, l.Observe(id("a"), seen(6, 3, epoch)), "what a worker saw before hides the restored backup")
	w = take(t, l, epoch, 1)[0]
	l.Done(w.ID, Outcome{Good: true, Digest: 3, Version: 7, Now: epoch})
	check.That(t, !l.Observe(id("a"), seen(7, 4, epoch)), "the order of versions does not count any more")
}
