package period

import (
	"slices"
	"time"

	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
)

// cluster is what the lines of a cluster say.
type cluster struct {
	watched map[string][]span // by Lease
	gaps    []Gap
	locks   map[message.Reference]*lock // by HelmRelease
}

// lock is what the lines about a HelmRelease say.
type lock struct {
	release message.Reference
	stints  []stint
	states  []state
	changes []Change
	denied  map[string]bool
	flagged []Revision // stored by unexpected users
}

// stint is the time from which on an operator, by its Lease, has had a lock.
type stint struct {
	at    time.Time
	lease string
}

// state is the state of a lock from a time on. A read one has the pause, the rules and the writer.
type state struct {
	at     time.Time
	lock   message.Lock
	read   bool
	pause  *evidence.Pause
	rules  evidence.Rules
	writer string
}

// span is a time. until is not in it.
type span struct{ from, until time.Time }

// cut returns the part of a span in another one, and whether there is one.
func (s span) cut(within span) (span, bool) {
	if s.from.Before(within.from) {
		s.from = within.from
	}
	if s.until.After(within.until) {
		s.until = within.until
	}
	return s, s.from.Before(s.until)
}

// without returns the parts of a span that none of others covers.
func (s span) without(others []span) []span {
	others = slices.Clone(others)
	slices.SortFunc(others, func(x, y span) int { return x.from.Compare(y.from) })
	var left []span
	for _, o := range others {
		if !o.from.Before(s.until) {
			break
		}
		if part, some := (span{s.from, o.from}).cut(s); some {
			left = append(left, part)
		}
		if o.until.After(s.from) {
			s.from = o.until
		}
	}
	if s.from.Before(s.until) {
		left = append(left, s)
	}
	return left
}
