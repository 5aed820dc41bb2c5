package lock

import "time"

// How often one object may be reverted within a minute before its drift counts as a fight. A party that restores the
// very same content over and over is found early; a person or a script that makes ever new changes has far more room,
// because reverting those fast is the point of a lock. Deletions carry no content to tell the two apart.
const (
	sameContentLimit = 10
	deletionLimit    = 60
	anyChangeLimit   = 600

	// Over all objects of a release: what has been reverted more than freeReverts times within the window draws on
	// a bucket of stormBurst reverts that is filled at stormPerSecond. What finds it empty counts as fought over.
	// That bounds what a controller gone wild can have the operator do to the API server: 200 reverts a second per
	// release (each is one write, and a list of metadata that all reverts of the moment share), until the back-off
	// makes it one in five minutes per object.
	freeReverts    = 5
	stormBurst     = 12000
	stormPerSecond = 200

	budgetWindow = time.Minute
	backoffMin   = time.Second
	backoffMax   = 5 * time.Minute
)

// budget counts the reverts of one object and turns a fight into exponential back-off, from one second to five
// minutes. The zero value is ready to use. It is not safe for concurrent use; Lock guards it.
type budget struct {
	start   time.Time // when the current window began
	any     int
	deleted int
	content uint64 // digest of the last drifted content
	same    int    // reverts of that content in this window

	backoff time.Duration // zero: not contended
	next    time.Time     // no revert before, while contended
}

// Contended reports whether the object is in a fight.
func (b *budget) Contended() bool { return b.backoff > 0 }

// Wait returns how long a revert has to wait at now; zero means it may go ahead.
func (b *budget) Wait(now time.Time) time.Duration {
	if b.backoff == 0 || !now.Before(b.next) {
		return 0
	}
	if b.next.Sub(now) > b.backoff { // the clock was set back
		b.next = now.Add(b.backoff)
	}
	return b.next.Sub(now)
}

// RecordRevert records a revert, made at now, of drifted content with the given digest (zero for a deletion). It
// reports whether this revert turns the drift into a fight. all is the budget of the whole release.
func (b *budget) RecordRevert(now time.Time, content uint64, all *storm) bool {
	if b.backoff > 0 {
		b.backoff = min(2*b.backoff, backoffMax)
		b.next = now.Add(b.backoff)
		return false
	}
	if age := now.Sub(b.start); age > budgetWindow || age < 0 { // below zero when the clock was set back
		*b = budget{start: now}
	}
	b.any++
	switch {
	case content == 0:
		b.deleted++
	case content == b.content:
		b.same++
	default:
		b.content, b.same = content, 1
	}
	if b.same < sameContentLimit && b.deleted < deletionLimit && b.any < anyChangeLimit &&
		(b.any <= freeReverts || all.take(now)) {
		return false
	}
	b.backoff = backoffMin
	b.next = now.Add(b.backoff)
	return true
}

// QuietAt returns when the fight counts as over if nothing drifts until then; zero when there is none.
func (b *budget) QuietAt() time.Time {
	if b.backoff == 0 {
		return time.Time{}
	}
	return b.next.Add(max(b.backoff, budgetWindow))
}

// Reset ends the fight if it has been quiet long enough at now, and reports whether it ended.
func (b *budget) Reset(now time.Time) bool {
	if b.backoff == 0 || now.Before(b.QuietAt()) {
		return false
	}
	*b = budget{}
	return true
}

// spent reports whether nothing that the budget holds makes a difference at now or later.
func (b *budget) spent(now time.Time) bool { return b.backoff == 0 && now.Sub(b.start) > budgetWindow }

// storm is the budget of reverts that all objects of a release share. The zero value is full. Lock guards it.
type storm struct {
	spent float64   // of stormBurst, as of at
	at    time.Time // when spent was last brought up to date
}

// take takes one revert out of the budget at now, and reports whether there was one.
func (s *storm) take(now time.Time) bool {
	if elapsed := now.Sub(s.at); elapsed > 0 {
		s.spent = max(0, s.spent-elapsed.Seconds()*stormPerSecond)
		s.at = now
	} else if elapsed < 0 { // the clock was set back
		s.at = now
	}
	if s.spent+1 > stormBurst {
		return false
	}
	s.spent++
	return true
}
