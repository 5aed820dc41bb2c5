package period

import (
	"maps"
	"slices"
	"time"

	"github.com/rancher/helm-locker/pkg/evidence"
)

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
