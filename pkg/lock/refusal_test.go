package lock

import (
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// partly hands back the object of judged as restored but for one refused change, with digest 5 at version 20.
func partly(t *testing.T, l *Lock) {
	t.Helper()
	l.Observe(id("a"), seen(15, 4, epoch))
	w := take(t, l, epoch, 1)[0]
	l.Done(w.ID, Outcome{
		Good: true, Reported: true, Digest: 5, Version: 20, Failed: true, Problem: &Problem{Drifted: true},
		Again: &Observation{NeedsGet: true, Seen: epoch}, Now: epoch,
		Refused: &Refusal{Content: 5, Changes: []drift.Change{{Path: "/data/a", Op: drift.Modified}}},
	})
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
