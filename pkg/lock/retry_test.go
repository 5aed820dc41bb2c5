package lock

import (
	"testing"
	"time"
)

func TestAFailedAttemptWaitsLongerEveryTimeAndAtMostAMinute(t *testing.T) {
	l := judged(t)
	now := epoch
	l.Observe(id("a"), seen(11, 2, now))
	last := time.Duration(0)
	for range 12 {
		w := take(t, l, now, 1)[0]
		again := w.Observation
		l.Done(w.ID, Outcome{Again: &again, Failed: true, Problem: &Problem{Reason: "RevertFailed", Drifted: true},
			Now: now})
		work, after := l.Take(now)
		if len(work) != 0 || after < last || after > retryMaxRefused {
			t.Fatalf("took %d, next attempt after %s, before that %s", len(work), after, last)
		}
		last = after
		now = now.Add(after)
	}
	if last != retryMaxRefused {
		t.Errorf("the last wait is %s", last)
	}
	w := take(t, l, now, 1)[0]
	if w.Failures != 12 {
		t.Errorf("failures are %d", w.Failures)
	}
	l.Done(w.ID, Outcome{Good: true, Digest: 1, Version: 20, Now: now})
	if sum := l.Summarize(now); sum.Drifted != 0 || len(sum.Problems) != 0 {
		t.Errorf("after success: %+v", sum)
	}
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
		if after > retryMaxTransient {
			t.Fatalf("waits %s", after)
		}
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
	if l.Retry(in("c")) {
		t.Error("a retry of nothing wakes somebody")
	}
	if !l.Retry(in("a")) {
		t.Error("the retry wakes nobody")
	}
	work := take(t, l, epoch, 1)
	if work[0].ID != id("a") || l.Retry(in("a")) {
		t.Error("what is not waiting is woken")
	}
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
		if w.Digest != digest || w.Version != version {
			t.Fatalf("took content %d at version %d", w.Digest, w.Version)
		}
		again := w.Observation
		if l.Done(w.ID, Outcome{Again: &again, Waits: true, Problem: &Problem{Drifted: true}, Now: epoch}) {
			t.Error("what waits wakes somebody")
		}
		take(t, l, epoch, 0)
	}
	if !l.Observe(id("a"), seen(11, 2, epoch)) {
		t.Fatal("drift wakes nobody")
	}
	park(11, 2)
	if l.Observe(id("a"), seen(12, 2, epoch)) {
		t.Error("the same content wakes somebody")
	}
	take(t, l, epoch, 0)
	if !l.Observe(id("a"), seen(13, 3, epoch)) {
		t.Error("other content wakes nobody")
	}
	park(13, 3)
	if l.Observe(id("a"), seen(14, 3, epoch)) {
		t.Error("the same content wakes somebody")
	}
	if !l.Resume() {
		t.Error("the end of waiting wakes nobody")
	}
	if l.Resume() {
		t.Error("it wakes somebody twice")
	}
	park(14, 3) // the newest look
	if l.Observe(id("a"), seen(15, 1, epoch)) || l.Resume() {
		t.Error("content that is good again wakes somebody")
	}
	l.Observe(id("a"), seen(16, 2, epoch))
	w := take(t, l, epoch, 1)[0]
	l.Observe(id("a"), seen(17, 3, epoch))
	again := w.Observation
	if !l.Done(w.ID, Outcome{Again: &again, Waits: true, Now: epoch}) {
		t.Error("a newer look does not wake anybody")
	}
	l.Close()
	if l.Resume() {
		t.Error("a lock that has ended wakes somebody")
	}
}
