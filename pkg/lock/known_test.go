package lock

import "testing"

// Known may only say yes where Observe would do nothing with the object, and then it must leave the same behind.
func TestKnownIsWhatObserveNeedsNoObjectFor(t *testing.T) {
	for name, tc := range map[string]struct {
		version, digest uint64
		known           bool
	}{
		"good content":                 {11, 1, true},
		"good content without version": {0, 1, true},
		"other content":                {11, 2, false},
		"an old look":                  {9, 2, true},
		"the look that was judged":     {10, 2, true},
	} {
		l := judged(t)
		if got := l.Known(id("a"), tc.version, tc.digest); got != tc.known {
			t.Errorf("%s: known is %t", name, got)
		}
		if woken := l.Observe(id("a"), seen(tc.version, tc.digest, epoch)); woken == tc.known {
			t.Errorf("%s: known is %t, and Observe wakes: %t", name, tc.known, woken)
		}
	}
	if !judged(t).Known(id("stranger"), 11, 2) {
		t.Error("an object that is not locked needs a look")
	}
}

func TestGoodContentThatIsKnownEndsADriftNotWorkedOnYet(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	if !l.Known(id("a"), 12, 1) {
		t.Error("good content is not known")
	}
	take(t, l, epoch, 0)
	if !l.Known(id("a"), 12, 2) {
		t.Error("the version of what is known is forgotten")
	}
}

func TestNothingIsKnownWhileAWorkerMayChangeTheObject(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	take(t, l, epoch, 1)
	if l.Known(id("a"), 12, 1) {
		t.Error("known while in flight")
	}
	if !l.Known(id("a"), 11, 3) {
		t.Error("an old look is not old while in flight")
	}
	l.Close()
	if !l.Known(id("a"), 12, 1) {
		t.Error("a closed lock wants a look")
	}
}
