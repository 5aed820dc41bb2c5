package lock

import (
	"testing"
	"time"
)

func TestEverNewChangesAreRevertedAtFullSpeedForLong(t *testing.T) {
	var b Budget
	for i := range anyChangeLimit - 1 {
		if b.Spend(epoch.Add(time.Duration(i)*50*time.Millisecond), uint64(i+1)) {
			t.Fatalf("revert %d counts as a fight", i)
		}
	}
}

func TestAPartyThatRestoresTheSameContentIsFoundEarly(t *testing.T) {
	var b Budget
	for i := 1; i < sameContentLimit; i++ {
		if b.Spend(epoch, 7) {
			t.Fatalf("revert %d counts as a fight", i)
		}
	}
	if !b.Spend(epoch, 7) || !b.Contended() || b.Wait(epoch) != backoffMin {
		t.Fatalf("contended %v, wait %s", b.Contended(), b.Wait(epoch))
	}
}

func TestTheSameChangeNowAndThenIsNoFight(t *testing.T) {
	var b Budget
	for i := range 100 {
		if b.Spend(epoch.Add(time.Duration(i)*(budgetWindow/5)), 7) {
			t.Fatalf("change %d, twelve seconds after the one before, counts as a fight", i)
		}
	}
}

func TestRepeatedDeletionsAreAFightToo(t *testing.T) {
	var b Budget
	fights := 0
	for range deletionLimit {
		if b.Spend(epoch, 0) {
			fights++
		}
	}
	if fights != 1 {
		t.Errorf("%d fights", fights)
	}
}

func TestBackOffDoublesUpToItsLimitAndEndsAfterQuiet(t *testing.T) {
	var b Budget
	for range sameContentLimit {
		b.Spend(epoch, 7)
	}
	now := epoch
	want := backoffMin
	for range 12 {
		if got := b.Wait(now); got != want {
			t.Fatalf("wait is %s, want %s", got, want)
		}
		now = now.Add(want)
		b.Spend(now, 7)
		want = min(2*want, backoffMax)
	}
	if b.Settle(b.QuietAt().Add(-time.Nanosecond)) {
		t.Error("the fight ends before it has been quiet")
	}
	if !b.Settle(b.QuietAt()) || b.Contended() || b.Wait(now) != 0 {
		t.Error("the fight does not end")
	}
}
