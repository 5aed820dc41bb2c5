package lock

import "testing"

func TestStraysAreKnownAfterAListThatBeganAfterTheLock(t *testing.T) {
	l := New(&Lock{Key: "ns/hr"}, objects("a"))
	if l.Unmanaged.AwaitsList() || l.Unmanaged.Knows(configMaps) {
		t.Error("a list is awaited, or over, of which nobody spoke")
	}
	l.Unmanaged.ListEnded(configMaps)
	if l.Unmanaged.Knows(configMaps) {
		t.Error("a list counts that nobody awaited: it may have begun before the lock")
	}
	l.Unmanaged.AwaitList(configMaps)
	if !l.Unmanaged.AwaitsList() || l.Unmanaged.Knows(configMaps) {
		t.Error("a list that is awaited counts as over")
	}
	l.Unmanaged.MissedList(configMaps)
	if l.Unmanaged.AwaitsList() || l.Unmanaged.Knows(configMaps) {
		t.Error("a list that had begun before is still awaited, or counts")
	}
	l.Unmanaged.AwaitList(configMaps)
	l.Unmanaged.ListEnded(configMaps)
	if l.Unmanaged.AwaitsList() || !l.Unmanaged.Knows(configMaps) {
		t.Error("a list that was awaited does not count")
	}
}
