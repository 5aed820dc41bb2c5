package lock

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestStraysAreKnownAfterAListThatBeganAfterTheLock(t *testing.T) {
	l := New(&Lock{Key: "ns/hr"}, objects("a"))
	check.That(t, !l.Unmanaged.AwaitsList() && !l.Unmanaged.Knows(configMaps),
		"a list is awaited, or over, of which nobody spoke")
	l.Unmanaged.ListEnded(configMaps)
	check.That(t, !l.Unmanaged.Knows(configMaps), "a list counts that nobody awaited: it may have begun before the lock")
	l.Unmanaged.AwaitList(configMaps)
	check.That(t, l.Unmanaged.AwaitsList() && !l.Unmanaged.Knows(configMaps), "a list that is awaited counts as over")
	l.Unmanaged.MissedList(configMaps)
	check.That(t, !l.Unmanaged.AwaitsList() && !l.Unmanaged.Knows(configMaps),
		"a list that had begun before is still awaited, or counts")
	l.Unmanaged.AwaitList(configMaps)
	l.Unmanaged.ListEnded(configMaps)
	check.That(t, !l.Unmanaged.AwaitsList() && l.Unmanaged.Knows(configMaps), "a list that was awaited does not count")
}
