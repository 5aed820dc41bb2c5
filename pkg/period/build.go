package period

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
)

// Builder collects the lines of a period.
type Builder struct {
	since, until time.Time
	clusters     map[string]*cluster
	chains       []Directory
	// before is when the line before was recorded, in the same directory.
	before time.Time
	shared shared
}

// NewBuilder returns a builder for a period. until is not in it.
func NewBuilder(since, until time.Time) *Builder {
	return &Builder{since: since, until: until, clusters: map[string]*cluster{}, shared: shared{}}
}

// AddChain adds the result of reading a directory, after its lines.
func (b *Builder) AddChain(directory string, c *evidence.Chain) {
	b.chains, b.before = append(b.chains, Directory{directory, *c}), time.Time{}
}

// Add adds a line, in the order of the chain. Lines before the period give the states at its beginning.
func (b *Builder) Add(l *evidence.Line) {
	c := b.clusters[l.Cluster]
	if c == nil {
		c = &cluster{watched: map[string][]span{}, locks: map[message.Reference]*lock{}}
		b.clusters[l.Cluster] = c
	}
	switch d := &l.Data; {
	case d.Watched != nil:
		c.watch(l.Lease, span{d.Watched.From, d.Watched.Until})
	case d.Gap != nil:
		g := Gap{l.Cluster, l.Lease, d.Gap.From, d.Gap.Until, d.Gap.Reason, d.Gap.Count}
		if g.Reason == evidence.LineTorn && !b.before.IsZero() {
			g.From = b.before // the line was written at some time since the one before it
		}
		c.gaps = append(c.gaps, g)
	case d.HelmRelease != nil:
		c.about(l, b)
	}
	b.before = l.Recorded
}

// watch adds a time in which an operator was watched. Lines follow each other, so most of them make the last longer.
func (c *cluster) watch(lease string, s span) {
	all := c.watched[lease]
	if n := len(all); n > 0 && !s.from.After(all[n-1].until) && !s.from.Before(all[n-1].from) {
		if s.until.After(all[n-1].until) {
			all[n-1].until = s.until
		}
		return
	}
	c.watched[lease] = append(all, s)
}

// about adds a line about a HelmRelease.
func (c *cluster) about(l *evidence.Line, b *Builder) {
	k := c.locks[*l.Data.HelmRelease]
	if k == nil {
		k = &lock{denied: map[string]bool{}}
		c.locks[*l.Data.HelmRelease] = k
	}
	if l.Data.Release != nil {
		k.release = *l.Data.Release
	}
	if n := len(k.stints); l.Lease != "" && (n == 0 || k.stints[n-1].lease != l.Lease) {
		k.stints = append(k.stints, stint{l.Time, l.Lease})
	}
	inside := !l.Time.Before(b.since) && l.Time.Before(b.until)
	switch d := &l.Data; {
	case d.Lock != nil:
		s := state{at: l.Time, lock: *d.Lock, read: l.Type == evidence.StateRead, pause: d.Pause, writer: d.Writer}
		if d.Rules != nil {
			s.rules = *d.Rules
		}
		k.states = append(k.states, s)
	case d.Drift != nil && inside && k.first(l):
		k.changes = append(k.changes, b.shared.change(l.Time, d.Drift))
	case d.Unexpected != nil && l.Time.Before(b.until):
		k.flagged = append(k.flagged, Revision{Time: l.Time, Revision: d.Unexpected.Revision, Writer: d.Unexpected.User,
			Unexpected: true})
	case d.Contention != nil && inside:
		k.changes = append(k.changes, fightOf(l))
	}
}

// first reports whether a denied request has no line yet: older processes wrote it again after a restart.
func (k *lock) first(l *evidence.Line) bool {
	if l.Type != evidence.Denied {
		return true
	}
	text, err := json.Marshal(l.Data.Drift)
	if err != nil || k.denied[string(text)] {
		return err != nil
	}
	k.denied[string(text)] = true
	return true
}

func fightOf(l *evidence.Line) Change {
	f := l.Data.Contention
	c := Change{Time: l.Time, Action: "ContentionBegan", Paths: f.Paths, MorePaths: f.MorePaths,
		Manager: f.FieldManager}
	if l.Type == message.ContentionEnded {
		c.Action = "ContentionEnded"
	}
	if f.Object != nil {
		c.Object = f.Object.String()
	}
	return c
}

// Report returns the report of the added lines.
func (b *Builder) Report() *Report {
	r := newReport(b.since, b.until)
	r.Chains = append(r.Chains, b.chains...)
	for name, c := range b.clusters {
		gaps := c.missing(name, b.since, b.until)
		r.Gaps = append(r.Gaps, gaps...)
		for hr, k := range c.locks {
			if item := k.item(gaps, b.since, b.until); item != nil {
				item.Cluster, item.HelmRelease = name, hr.Namespace+"/"+hr.Name
				r.Releases = append(r.Releases, *item)
			}
		}
	}
	slices.SortFunc(r.Gaps, func(x, y Gap) int {
		return cmp.Or(strings.Compare(x.Cluster, y.Cluster), x.From.Compare(y.From), strings.Compare(x.Lease, y.Lease),
			x.Until.Compare(y.Until), cmp.Compare(x.Reason, y.Reason))
	})
	slices.SortFunc(r.Releases, func(x, y Release) int {
		return cmp.Or(strings.Compare(x.Cluster, y.Cluster), strings.Compare(x.Namespace, y.Namespace),
			strings.Compare(x.Name, y.Name), strings.Compare(x.HelmRelease, y.HelmRelease))
	})
	r.Summary = r.summary(len(b.clusters))
	return r
}

func (r *Report) summary(clusters int) Summary {
	s := Summary{Clusters: clusters, Releases: len(r.Releases), Gaps: len(r.Gaps)}
	for i := range r.Releases {
		for _, c := range r.Releases[i].Changes {
			switch v1alpha1.DriftAction(c.Action) {
			case v1alpha1.DriftActionDenied:
				s.Denials++
			case v1alpha1.DriftActionReverted, v1alpha1.DriftActionRecreated, v1alpha1.DriftActionReplaced,
				v1alpha1.DriftActionPruned:
				s.Reverts++
			}
		}
	}
	for _, c := range r.Chains {
		if c.Broken != "" {
			s.Broken++
		}
	}
	return s
}
