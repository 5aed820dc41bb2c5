package lock

import (
	"fmt"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// revert records a revert of a change that was seen at once.
func (b *budget) revert(now time.Time, all *bucket, paths ...string) bool {
	return b.RecordRevert(now, now, paths, all)
}

// insist changes a path again as soon as it may be reverted, for so long. It returns the number of reverts until the
// fight began, of those at once, and of all.
func insist(t *testing.T, b *budget, last time.Duration, path func(n int) string) (noticed, atOnce, all int) {
	t.Helper()
	now := epoch
	for now.Before(epoch.Add(last)) {
		wait := b.Wait(now)
		check.Must(t, wait <= time.Second, "revert %d waits %s", all, wait)
		now = now.Add(wait)
		all++
		if wait == 0 && now.Equal(epoch) {
			atOnce++
		}
		if b.revert(now, &bucket{}, path(all)) {
			noticed = all
		}
	}
	return noticed, atOnce, all
}

func TestInsistingGetsOneSecondAtMost(t *testing.T) {
	noticed, atOnce, all := insist(t, &budget{}, 10*time.Minute, func(int) string { return "/data/key" })
	check.Equal(t, noticed, fightAfter, "noticed at revert")
	check.That(t, atOnce == revertBurst+1, "%d reverts at once", atOnce)
	most := atOnce + 600
	check.That(t, all <= most, "%d reverts in ten minutes, at most %d are promised", all, most)
}

func TestDeletingAgainAndAgainIsAFight(t *testing.T) {
	noticed, _, _ := insist(t, &budget{}, time.Second, func(int) string { return "" })
	check.That(t, noticed == fightAfter, "noticed at revert %d", noticed)
}

// A writer that takes a few paths in turns, or deletes the object between its changes, is noticed within ten reverts.
func TestTakingPathsInTurnsHidesNoFight(t *testing.T) {
	for _, paths := range [][]string{{"", "/data/key"}, {"/data/a", "/data/b"}, {"/data/a", "/data/b", ""}} {
		next := func(n int) string { return paths[n%len(paths)] }
		noticed, _, _ := insist(t, &budget{}, 5*time.Second, next)
		check.That(t, noticed != 0 && noticed <= 10, "%q: noticed at revert %d", paths, noticed)
	}
}

// Seven repetitions, each long after the last one, are no fight.
func TestRepetitionsNowAndThenAreNoFight(t *testing.T) {
	var b budget
	for i := range 3 * fightAfter {
		now := epoch.Add(time.Duration(i) * (answerWithin + time.Second))
		for range 2 {
			check.Must(t, !b.revert(now, &bucket{}, fmt.Sprint("/data/", i)), "the second change of path %d counts as a fight",
				i)
		}
	}
}

func TestDifferentChangesAreNoFightAndAtFullSpeed(t *testing.T) {
	var b budget
	for i := range maxPaths {
		now := epoch.Add(time.Duration(i) * time.Millisecond)
		check.Must(t, b.Wait(now) <= 0 && !b.revert(now, &bucket{}, fmt.Sprint("/data/", i)),
			"revert %d of another path waits, or counts as a fight", i)
	}
}

func TestMorePathsThanAreRememberedArePaced(t *testing.T) {
	path := func(n int) string { return fmt.Sprint("/data/", n) }
	_, _, all := insist(t, &budget{}, 5*time.Second, path)
	check.That(t, all <= maxPaths+revertBurst+5, "%d reverts in five seconds", all)
}

func TestTheSameChangeNowAndThenIsNoFight(t *testing.T) {
	var b budget
	for i := range 100 {
		now := epoch.Add(time.Duration(i) * (answerWithin + time.Second))
		check.Must(t, b.Wait(now) <= 0 && !b.revert(now, &bucket{}, "/data/key"),
			"change %d, eleven seconds after the one before, waits or counts as a fight", i)
	}
}

// A slow writer is noticed by the time of its change, and not by the time of the revert.
func TestAnAnswerCountsFromWhenItIsSeen(t *testing.T) {
	var b budget
	now := epoch
	for range fightAfter - 1 {
		b.RecordRevert(now.Add(time.Second), now.Add(time.Minute), []string{"/data/key"}, &bucket{})
		now = now.Add(time.Minute)
	}
	check.That(t, b.RecordRevert(now.Add(time.Second), now.Add(time.Minute), []string{"/data/key"}, &bucket{}),
		"no fight")
}

func TestAnotherChangeInBetweenHidesNoFight(t *testing.T) {
	var b budget
	fight := false
	for i := range fightAfter {
		now := epoch.Add(time.Duration(i) * time.Second)
		b.revert(now, &bucket{}, fmt.Sprint("/data/other", i))
		fight = b.revert(now, &bucket{}, "/data/key", fmt.Sprint("/data/new", i)) || fight
	}
	check.That(t, fight, "no fight")
}

func TestAFightEndsAfterQuiet(t *testing.T) {
	var b budget
	insist(t, &b, 30*time.Second, func(int) string { return "/data/key" })
	check.That(t, !b.Reset(b.QuietAt().Add(-time.Nanosecond)), "the fight ends before it has been quiet")
	now := b.QuietAt()
	check.That(t, b.Reset(now) && !b.Contended() && b.Wait(now) == 0 && b.QuietAt().IsZero(), "the fight does not end")
}

// The figure of the docs: the writes of the operator in one release of a controller gone wild.
func TestAStormOverAWholeReleaseIsBounded(t *testing.T) {
	const objects, perSecond, minutes = 1000, 20, 5 // each object is changed that often
	var all bucket
	budgets := make([]budget, objects)
	perMinute := map[int]int{}
	for tick := range minutes * 60 * perSecond {
		now := epoch.Add(time.Duration(tick) * time.Second / perSecond)
		for i := range budgets {
			if budgets[i].Wait(now) == 0 {
				budgets[i].revert(now, &all, "/data/key")
				perMinute[tick/(60*perSecond)]++
			}
		}
	}
	most := stormBurst + stormPerSecond*60 + 2*objects
	check.That(t, perMinute[0] <= most, "%d reverts in the first minute, at most %d are promised", perMinute[0], most)
	for minute := 1; minute < minutes; minute++ {
		most := stormPerSecond * 61
		check.That(t, perMinute[minute] <= most, "%d reverts in minute %d, at most %d are promised", perMinute[minute],
			minute, most)
	}
	t.Logf("reverts by minute: %v", perMinute)
}

func TestDriftsOfManyObjectsDrawNothingFromTheStormBudget(t *testing.T) {
	var all bucket
	for range 10_000 {
		var b budget
		b.revert(epoch, &all, "/data/a")
		b.revert(epoch, &all, "/data/b")
	}
	check.Equal(t, all, bucket{})
}

// A clock that is set back by a year must not stop reverts for a year.
func TestAClockSetBackEndsNoReverts(t *testing.T) {
	late := epoch.AddDate(1, 0, 0)
	var b budget
	storm := &bucket{}
	for range revertBurst + 1 {
		b.revert(late, storm, "/data/key")
	}
	wait := b.Wait(epoch)
	check.That(t, b.Contended() && wait == time.Second, "contended %v, waits %s after the clock was set back",
		b.Contended(), wait)
	wait = b.Wait(epoch.Add(time.Second))
	check.That(t, wait == 0, "waits %s more", wait)
	if b.revert(epoch, storm, "/data/key"); b.Wait(epoch) > time.Second {
		t.Errorf("waits %s", b.Wait(epoch))
	}

	b = budget{}
	b.revert(late, storm, "/data/key")
	for i := range 2 * fightAfter {
		check.Must(t, !b.revert(epoch.Add(time.Duration(i)*time.Minute*2), storm, "/data/key"),
			"revert %d, two minutes after the one before, counts as a fight", i)
	}

	full := bucket{spent: stormBurst, at: late}
	full.take(epoch, stormBurst, stormPerSecond)
	check.Equal(t, full.take(epoch.Add(time.Second), stormBurst, stormPerSecond), 0,
		"a storm's bucket is not filled after the clock was set back")

	s := &state{}
	s.fail(late, false)
	wait = s.wait(epoch)
	check.That(t, wait == 0, "a failed attempt waits %s for the next after the clock was set back", wait)
}
