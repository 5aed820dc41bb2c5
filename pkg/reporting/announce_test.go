package reporting

import (
	"slices"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAnnouncementsWaitForStatuses(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	var a announcements
	var told []string
	hold := func(keys ...string) {
		for _, key := range keys {
			a.hold(key, func() { told = append(told, key) })
		}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		check.That(t, slices.Equal(told, want), "%s: told of %v, want %v", what, told, want)
		told = nil
	}
	a.flush("one")
	a.written("one", begin, 0)
	expect("nothing is held")

	hold("one", "two", "three")
	a.written("other", begin, 0)
	expect("the status of neither is written")
	a.written("two", begin.Add(2*time.Second), 2)
	a.written("one", begin.Add(2*time.Second), 1)
	expect("other statuses wait")
	a.written("other", begin.Add(2*time.Second), 0)
	expect("no other waits", "two", "one")
	a.written("other", begin.Add(2*time.Second), 0)
	expect("they are told once")
	a.flush("three")
	expect("something else is to be told", "three")
	a.written("three", begin.Add(2*time.Second), 0)
	expect("it is told once")

	hold("one", "two")
	a.written("two", begin.Add(time.Hour), 7)
	a.written("one", begin.Add(time.Hour+announcePatience-1), 7)
	expect("neither waits for others for long yet")
	a.written("other", begin.Add(time.Hour+announcePatience), 7)
	expect("the first of them waited for long", "two", "one")

	a.hold("one", func() { t.Error("what was replaced is told") })
	hold("one")
	a.written("one", begin, 0)
	expect("locked twice", "one")
}
