package period

import (
	"maps"
	"slices"
	"time"

	"github.com/rancher/helm-locker/pkg/evidence"
)

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

// missing returns the gaps of a cluster in a period: those with a line, and each other time in which an operator was
// not watched. A time without any line is a gap.
func (c *cluster) missing(name string, since, until time.Time) []Gap {
	all := span{since, until}
	found := []Gap{}
	named := map[string][]span{} // by Lease
	for _, g := range c.gaps {
		part, some := (span{g.From, g.Until}).cut(all)
		instant := g.From.Equal(g.Until) && !g.From.Before(since) && g.From.Before(until)
		if !some && !instant {
			continue
		}
		g.From, g.Until = part.from, part.until
		found = append(found, g)
		if g.Reason != evidence.StatesNotRead && g.Reason != evidence.LineTorn {
			named[g.Lease] = append(named[g.Lease], part)
		}
	}
	leases := slices.Sorted(maps.Keys(c.watched))
	if len(leases) == 0 {
		leases = []string{""}
	}
	for _, lease := range leases {
		covered := slices.Concat(c.watched[lease], named[lease], named[""])
		for _, s := range all.without(covered) {
			found = append(found, Gap{Cluster: name, Lease: lease, From: s.from, Until: s.until, Reason: NotWatched})
		}
	}
	return found
}

// hides reports whether the state of a lock of an operator is not known in a gap. A gap without an operator is about
// all, and all gaps are about a lock of an unknown one.
func (g Gap) hides(lease string) bool {
	if g.Reason == evidence.StatesNotRead {
		return false // the stream has the changes of locks
	}
	return g.Lease == "" || lease == "" || g.Lease == lease
}
