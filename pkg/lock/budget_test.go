package lock

import (
	"testing"
	"time"
)

func TestEverNewChangesAreRevertedAtFullSpeedForLong(t *testing.T) {
	var b budget
	for i := range anyChangeLimit - 1 {
		if b.RecordRevert(epoch.Add(time.Duration(i)*50*time.Millisecond), uint64(i+1), &storm{}) {
			t.Fatalf("revert %d counts as a fight", i)
		}
	}
}

func TestAPartyThatRestoresTheSameContentIsFoundEarly(t *testing.T) {
	var b budget
	for i := 1; i < sameContentLimit; i++ {
		if b.RecordRevert(epoch, 7, &storm{}) {
			t.Fatalf("revert %d counts as a fight", i)
		}
	}
	if !b.RecordRevert(epoch, 7, &storm{}) || !b.Contended() || b.Wait(epoch) != backoffMin {
		t.Fatalf("contended %v, wait %s", b.Contended(), b.Wait(epoch))
	}
}

func TestTheSameChangeNowAndThenIsNoFight(t *testing.T) {
	var b budget
	for i := range 100 {
		if b.RecordRevert(epoch.Add(time.Duration(i)*(budgetWindow/5)), 7, &storm{}) {
			t.Fatalf("change %d, twelve seconds after the one before, counts as a fight", i)
		}
	}
}

func TestRepeatedDeletionsAreAFightToo(t *testing.T) {
	var b budget
	fights := 0
	for range deletionLimit {
		if b.RecordRevert(epoch, 0, &storm{}) {
			fights++
		}
	}
	if fights != 1 {
		t.Errorf("%d fights", fights)
	}
}

func TestBackOffDoublesUpToItsLimitAndEndsAfterQuiet(t *testing.T) {
	var b budget
	for range sameContentLimit {
		b.RecordRevert(epoch, 7, &storm{})
	}
	now := epoch
	want := backoffMin
	for range 12 {
		if got := b.Wait(now); got != want {
			t.Fatalf("wait is %s, want %s", got, want)
		}
		now = now.Add(want)
		b.RecordRevert(now, 7, &storm{})
		want = min(2*want, backoffMax)
	}
	if b.Reset(b.QuietAt().Add(-time.Nanosecond)) {
		t.Error("the fight ends before it has been quiet")
	}
	if !b.Reset(b.QuietAt()) || b.Contended() || b.Wait(now) != 0 {
		t.Error("the fight does not end")
	}
}

// The figure that README and docs state: what a controller gone wild can make the operator write in one release.
func TestAStormOverAWholeReleaseIsBounded(t *testing.T) {
	const objects, perSecond = 100, 50 // each object is changed that often, always to something new
	var all storm
	budgets := make([]budget, objects)
	perMinute := map[int]int{}
	content := uint64(0)
	for tick := range 30 * 60 * perSecond {
		now := epoch.Add(time.Duration(tick) * time.Second / perSecond)
		for i := range budgets {
			content++
			if budgets[i].Wait(now) == 0 {
				budgets[i].RecordRevert(now, content, &all)
				perMinute[tick/(60*perSecond)]++
			}
		}
	}
	if most := stormBurst + stormPerSecond*60 + (freeReverts+10)*objects; perMinute[0] > most {
		t.Errorf("%d reverts in the first minute, at most %d are promised", perMinute[0], most)
	}
	for minute := 10; minute < 30; minute++ {
		if perMinute[minute] > objects {
			t.Errorf("%d reverts in minute %d, at most %d (one per object) are promised", perMinute[minute], minute,
				objects)
		}
	}
	t.Logf("reverts by minute: %v", perMinute)
}

func TestDriftsOfManyObjectsDrawNothingFromTheStormBudget(t *testing.T) {
	var all storm
	for range 100_000 {
		var b budget
		for i := range freeReverts {
			if b.RecordRevert(epoch, uint64(i+1), &all) {
				t.Fatal("a fight")
			}
		}
	}
}

// Whoever sets the clock back, by a year say, must not stop reverts for a year.
func TestAClockSetBackEndsNoReverts(t *testing.T) {
	late := epoch.AddDate(1, 0, 0)
	var b budget
	storm := &storm{}
	for range sameContentLimit {
		b.RecordRevert(late, 7, storm)
	}
	if wait := b.Wait(epoch); !b.Contended() || wait != backoffMin {
		t.Errorf("contended %v, waits %s after the clock was set back, want %s", b.Contended(), wait, backoffMin)
	}
	if wait := b.Wait(epoch.Add(backoffMin)); wait != 0 {
		t.Errorf("waits %s more", wait)
	}

	b = budget{}
	b.RecordRevert(late, 7, storm)
	for i := range 2 * sameContentLimit {
		if b.RecordRevert(epoch.Add(time.Duration(i)*time.Minute*2), 7, storm) {
			t.Fatalf("revert %d, two minutes after the one before, counts as a fight", i)
		}
	}

	storm.spent, storm.at = stormBurst, late
	storm.take(epoch)
	if !storm.take(epoch.Add(time.Second)) {
		t.Error("a storm's budget is not filled after the clock was set back")
	}

	s := &state{}
	s.fail(late, false)
	if wait := s.wait(epoch); wait != 0 {
		t.Errorf("a failed attempt waits %s for the next after the clock was set back", wait)
	}
}
