package controller

import (
	"slices"
	"testing"
	"time"
)

func TestAnnouncementsWaitForStatuses(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	var a announcements
	var told []string
	hold := func(key string, after time.Duration) {
		a.hold(key, begin.Add(after), func() { told = append(told, key) })
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%s: told of %v, want %v", what, told, want)
		}
		told = nil
	}
	a.say("one")
	a.written("one", begin, 0)
	expect("nothing is held")

	hold("one", 0)
	hold("two", time.Second)
	hold("three", time.Second)
	a.written("other", begin, 0)
	expect("the status of neither is written")
	a.written("two", begin.Add(2*time.Second), 2)
	a.written("one", begin.Add(2*time.Second), 1)
	expect("other statuses wait")
	a.written("other", begin.Add(2*time.Second), 0)
	expect("no other waits", "two", "one")
	a.written("other", begin.Add(2*time.Second), 0)
	expect("they are told once")
	a.say("three")
	expect("something else is to be told", "three")
	a.written("three", begin.Add(2*time.Second), 0)
	expect("it is told once")

	hold("one", 0)
	hold("two", time.Second)
	a.written("two", begin.Add(announcePatience), 7)
	expect("held for less than the longest time")
	a.written("one", begin.Add(announcePatience), 7)
	expect("the first of them held for long", "two", "one")

	told = nil
	a.hold("one", begin, func() { t.Error("what was replaced is told") })
	hold("one", 0)
	a.written("one", begin, 0)
	expect("locked twice", "one")
}
