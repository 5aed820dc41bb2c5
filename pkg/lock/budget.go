package lock

import (
	"maps"
	"time"
)

// A fight is an object of which fightAfter-1 reverts, one within answerWithin after the other, were of paths reverted
// just before. Neither the new value nor the name of the writer counts, because a writer chooses both, nor the order of
// the paths, because a writer may take them in turns.
const (
	answerWithin = 10 * time.Second
	fightAfter   = 8
	// quietAfter is the time without drift that ends a fight.
	quietAfter = time.Minute
	// maxPaths bounds the remembered paths of one object. Any further one counts as changed again.
	maxPaths = 1000

	// A repeated change of a path draws on a bucket of the object. The value of an insistent writer lives at most a
	// second, without end: a longer wait would be a way to switch the lock off.
	revertBurst     = 20
	revertPerSecond = 1
	// It draws on a bucket of the release, too. This bounds the requests that a runaway controller can cause the
	// operator to make.
	stormBurst     = 12000
	stormPerSecond = 200
)

// budget paces the reverts of one object and notices fights over it. The zero value is ready to use. It is not safe
// for concurrent use; Lock guards it.
type budget struct {
	changes map[string]streak // by path, of the last answerWithin
	repeats streak            // of the reverts of a path that was reverted just before
	last    time.Time         // the newest revert
	bucket  bucket

	fight bool
	wait  time.Duration // how long the next revert waits after one that draws on the bucket
	next  time.Time     // when that wait ends
}

// streak is a number of reverts, each of a change soon after the last revert.
type streak struct {
	reverts int
	last    time.Time
}

// after returns the streak with a revert, made at now, of a change observed at seen.
func (s streak) after(seen, now time.Time) streak {
	if s.over(seen) {
		s.reverts = 0
	}
	return streak{s.reverts + 1, now}
}

// over reports whether a change observed at seen is not soon after the last revert.
func (s streak) over(seen time.Time) bool { return seen.Sub(s.last).Abs() > answerWithin }

// Contended reports whether the object is in a fight.
func (b *budget) Contended() bool { return b.fight }

// Wait returns how long a revert has to wait at now; zero means it may go ahead.
func (b *budget) Wait(now time.Time) time.Duration {
	if !now.Before(b.next) {
		return 0
	}
	if b.next.Sub(now) > b.wait { // the clock was set back
		b.next = now.Add(b.wait)
	}
	return b.next.Sub(now)
}

// RecordRevert records a revert, made at now, of changes at paths observed at seen. It reports whether this revert
// turns the drift into a fight. all is the bucket of the whole release.
func (b *budget) RecordRevert(seen, now time.Time, paths []string, all *bucket) bool {
	longest := b.count(seen, now, paths)
	b.last = now
	if longest == 1 {
		return false
	}
	b.wait = max(b.bucket.take(now, revertBurst, revertPerSecond), all.take(now, stormBurst, stormPerSecond))
	b.next = now.Add(b.wait)
	b.repeats = b.repeats.after(seen, now)
	begins := !b.fight && b.repeats.reverts >= fightAfter-1
	b.fight = b.fight || begins
	return begins
}

// count counts the changed paths, and returns the longest streak of one of them.
func (b *budget) count(seen, now time.Time, paths []string) (longest int) {
	maps.DeleteFunc(b.changes, func(_ string, s streak) bool { return s.over(seen) })
	if b.changes == nil {
		b.changes = map[string]streak{}
	}
	longest = 1
	for _, path := range paths {
		s, known := b.changes[path]
		if !known && len(b.changes) >= maxPaths {
			longest = max(longest, 2)
			continue
		}
		s = s.after(seen, now)
		b.changes[path] = s
		longest = max(longest, s.reverts)
	}
	return longest
}

// QuietAt returns the earliest end of the fight: the end of its quiet period. It returns zero when there is no fight.
func (b *budget) QuietAt() time.Time {
	if !b.fight {
		return time.Time{}
	}
	return b.next.Add(quietAfter)
}

// Reset ends the fight if it has been quiet long enough at now, and reports whether it ended.
func (b *budget) Reset(now time.Time) bool {
	if !b.fight || now.Before(b.QuietAt()) {
		return false
	}
	*b = budget{}
	return true
}

// spent reports whether the content of the budget makes no difference now or later.
func (b *budget) spent(now time.Time) bool { return !b.fight && now.Sub(b.last) > quietAfter }

// bucket bounds how often something is done: a burst at once, then a number each second. The zero value is full.
type bucket struct {
	spent float64   // as of at
	at    time.Time // when spent was last brought up to date
}

// take takes one out of the bucket at now, and returns how long the next one has to wait. No time has passed when the
// clock was set back.
func (b *bucket) take(now time.Time, burst, perSecond float64) time.Duration {
	b.spent = max(0, b.spent-perSecond*max(0, now.Sub(b.at).Seconds())) + 1
	b.at = now
	return time.Duration(max(0, b.spent+1-burst) / perSecond * float64(time.Second))
}
