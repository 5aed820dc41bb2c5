package lock

import (
	"testing"
	"time"

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
		l.Done(w.ID, Outcome{Again: &again, Failed: true, Problem: &Problem{Reason: "RevertFailed", Drifted: true}, Now: now})
		work, after := l.Take(now)
		check.Must(t, len(work) == 0 && after >= last && after <= retryMaxRefused,
			"took %d, next attempt after %s, before that %s", len(work), after, last)
		last = after
		now = now.Add(after)
	}
	check.Equal(t, last, retryMaxRefused, "the last wait")
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
