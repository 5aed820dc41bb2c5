package lock

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

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
		check.Equal(t, l.Known(id("a"), tc.version, tc.digest), tc.known, "%s: known", name)
		woken := l.Observe(id("a"), seen(tc.version, tc.digest, epoch))
		check.That(t, woken != tc.known, "%s: known is %t, and Observe wakes: %t", name, tc.known, woken)
	}
	check.That(t, judged(t).Known(id("stranger"), 11, 2), "an object that is not locked needs a look")
}

func TestGoodContentThatIsKnownEndsADriftNotWorkedOnYet(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	check.That(t, l.Known(id("a"), 12, 1), "good content is not known")
	take(t, l, epoch, 0)
	check.That(t, l.Known(id("a"), 12, 2), "the version of what is known is forgotten")
}

func TestNothingIsKnownWhileAWorkerMayChangeTheObject(t *testing.T) {
	l := judged(t)
	l.Observe(id("a"), seen(11, 2, epoch))
	take(t, l, epoch, 1)
	check.That(t, !l.Known(id("a"), 12, 1), "known while in flight")
	check.That(t, l.Known(id("a"), 11, 3), "an old look is not old while in flight")
	l.Close()
	check.That(t, l.Known(id("a"), 12, 1), "a closed lock wants a look")
}
