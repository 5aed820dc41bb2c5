package lock

import "testing"

func TestStraysAreKnownAfterAListThatBeganAfterTheLock(t *testing.T) {
	l := New(&Lock{Key: "ns/hr"}, objects("a"))
	if l.AwaitsList() || l.KnowsUnmanaged(configMaps) {
		t.Error("a list is awaited, or over, of which nobody spoke")
	}
	l.ListEnded(configMaps)
	if l.KnowsUnmanaged(configMaps) {
		t.Error("a list counts that nobody awaited: it may have begun before the lock")
	}
	l.AwaitList(configMaps)
	if !l.AwaitsList() || l.KnowsUnmanaged(configMaps) {
		t.Error("a list that is awaited counts as over")
	}
	l.MissedList(configMaps)
	if l.AwaitsList() || l.KnowsUnmanaged(configMaps) {
		t.Error("a list that had begun before is still awaited, or counts")
	}
	l.AwaitList(configMaps)
	l.ListEnded(configMaps)
	if l.AwaitsList() || !l.KnowsUnmanaged(configMaps) {
		t.Error("a list that was awaited does not count")
	}
}
