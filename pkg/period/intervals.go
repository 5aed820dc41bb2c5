package period

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
)

// item returns the entry of a lock, nil for one without anything in the period.
func (k *lock) item(gaps []Gap, since, until time.Time) *Release {
	slices.SortStableFunc(k.states, func(x, y state) int { return x.at.Compare(y.at) })
	slices.SortStableFunc(k.changes, func(x, y Change) int { return x.Time.Compare(y.Time) })
	states := slices.DeleteFunc(slices.Clone(k.states), func(s state) bool { return !s.at.Before(until) })
	if len(states) == 0 && len(k.changes) == 0 || ended(states, since) && len(k.changes) == 0 {
		return nil
	}
	r := &Release{Namespace: k.release.Namespace, Name: k.release.Name, Changes: append([]Change{}, k.changes...),
		Intervals: []Interval{}, Revisions: revisions(states, k.flagged, since), Rules: rules(states, since)}
	slices.SortStableFunc(k.stints, func(x, y stint) int { return x.at.Compare(y.at) })
	known := &walk{states: states, gaps: slices.Clone(gaps), stints: k.stints}
	slices.SortStableFunc(known.gaps, func(x, y Gap) int { return x.From.Compare(y.From) })
	r.Intervals = known.intervals(since, until)
	return r
}

// ended reports whether a HelmRelease was deleted before the period, and not created again.
func ended(states []state, since time.Time) bool {
	if len(states) == 0 {
		return false
	}
	last := states[len(states)-1]
	return last.at.Before(since) && last.lock.Reason == v1alpha1.EventReasonUntracked
}

// intervals returns the states in a period, without a hole: a time without evidence is an interval, too.
func (w *walk) intervals(since, until time.Time) []Interval {
	edges := []time.Time{since, until}
	inside := func(t time.Time) bool { return t.After(since) && t.Before(until) }
	for _, s := range w.states {
		if inside(s.at) {
			edges = append(edges, s.at)
		}
	}
	for _, s := range w.stints {
		if inside(s.at) {
			edges = append(edges, s.at)
		}
	}
	for _, g := range w.gaps {
		for _, t := range []time.Time{g.From, g.Until} {
			if inside(t) {
				edges = append(edges, t)
			}
		}
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	all := []Interval{}
	for i := range len(edges) - 1 {
		next := w.at(edges[i])
		next.From, next.Until = edges[i], edges[i+1]
		if n := len(all); n > 0 && all[n-1].joins(&next) {
			all[n-1].Until = next.Until
			continue
		}
		all = append(all, next)
	}
	return all
}

// joins reports whether an interval goes on in the next one. The reason of a pause is read a moment after its begin,
// and is gone from the spec a moment before its end.
func (i *Interval) joins(next *Interval) bool {
	x, y := *i, *next
	x.Until, y.Until, x.From, y.From, x.Message, y.Message = time.Time{}, time.Time{}, time.Time{}, time.Time{}, "", ""
	if x.State == Paused && x.Pause == nil {
		x.Pause = y.Pause
	}
	if y.State == Paused && y.Pause == nil {
		y.Pause = x.Pause
	}
	if !reflect.DeepEqual(x, y) {
		return false
	}
	i.Pause = x.Pause
	if i.Message == "" {
		i.Message = next.Message
	}
	return true
}

// walk is the knowledge about a lock at a moment that only moves forward.
type walk struct {
	states []state
	gaps   []Gap // by their begin
	stints []stint
	next   int   // the first state that is later
	open   []Gap // gaps that have begun
	// trusted is the time from which on a state is known after a gap: an older one may have changed.
	trusted time.Time
	because evidence.Reason
}

// at returns the interval that begins at a moment.
func (w *walk) at(t time.Time) Interval {
	for w.next < len(w.states) && !w.states[w.next].at.After(t) {
		w.next++
	}
	for len(w.gaps) > 0 && !w.gaps[0].From.After(t) {
		g := w.gaps[0]
		w.gaps, w.open = w.gaps[1:], append(w.open, g)
		from := g.From
		if g.Reason == evidence.NotWritten {
			from = g.Until // what was written may be older than what was lost
		}
		if g.hides(w.lease(g.From)) && from.After(w.trusted) {
			w.trusted, w.because = from, g.Reason
		}
	}
	w.open = slices.DeleteFunc(w.open, func(g Gap) bool { return !g.Until.After(t) })
	lease := w.lease(t)
	if i := slices.IndexFunc(w.open, func(g Gap) bool { return g.hides(lease) }); i >= 0 {
		return Interval{State: Unknown, Reason: string(w.open[i].Reason)}
	}
	if w.next == 0 {
		return Interval{State: Unknown, Reason: string(NotKnownYet)}
	}
	s := &w.states[w.next-1]
	if s.at.Before(w.trusted) {
		return Interval{State: Unknown, Reason: string(w.because)}
	}
	return s.interval()
}

// lease returns the operator that has the lock at a moment; the first known one before that.
func (w *walk) lease(t time.Time) (name string) {
	for i, s := range w.stints {
		if i == 0 || !s.at.After(t) {
			name = s.lease
		}
	}
	return name
}

// NotKnownYet is the reason of an interval before the first line about a HelmRelease: it may not have existed.
const NotKnownYet evidence.Reason = "NotKnownYet"

func (s *state) interval() Interval {
	i := Interval{State: NotLocked, Reason: cmp.Or(s.lock.Reason, "NoStatus"), Message: s.lock.Message,
		Revision: s.lock.Revision}
	switch {
	case s.lock.Locked:
		i.State, i.Message = Locked, ""
	case s.lock.Reason == v1alpha1.ReasonDetectOnly:
		i.State, i.Message = Watched, ""
	case s.lock.Reason == v1alpha1.ReasonSuspended || s.lock.Reason == v1alpha1.ReasonInWindow:
		i.State, i.Message, i.Pause = Paused, "", s.pause
	}
	return i
}

// revisions returns the revisions that were locked or watched, each with its writer as soon as that is known, and the
// flagged ones.
func revisions(states []state, flagged []Revision, since time.Time) []Revision {
	all, gone := []Revision{}, false
	for i := range states {
		s := &states[i]
		gone = gone || s.lock.Reason == v1alpha1.ReasonSecretNotFound
		if s.lock.Revision == 0 {
			continue
		}
		n := len(all)
		if n == 0 || all[n-1].Revision != s.lock.Revision || gone {
			gone = false
			all = append(all, Revision{Time: s.at, Revision: s.lock.Revision, Earlier: n == 0 && s.read})
			n++
		}
		if s.writer != "" {
			all[n-1].Writer = s.writer
		}
	}
	for _, f := range flagged {
		all = withFlagged(all, f)
	}
	return inForce(all, since, func(r Revision) time.Time { return r.Time })
}

// withFlagged adds a flagged revision: to the last one of that number until then, else to the next, which was locked
// after it was flagged. One that was never locked is a revision of its own.
func withFlagged(all []Revision, f Revision) []Revision {
	found := -1
	for i, r := range all {
		if r.Revision == f.Revision && (found < 0 || !r.Time.After(f.Time)) {
			found = i
		}
	}
	if found >= 0 {
		all[found].Writer, all[found].Unexpected = f.Writer, true
		return all
	}
	all = append(all, f)
	slices.SortStableFunc(all, func(x, y Revision) int { return x.Time.Compare(y.Time) })
	return all
}

// rules returns the rules in force in a period.
func rules(states []state, since time.Time) []RuleSet {
	all := []RuleSet{}
	for i := range states {
		s := &states[i]
		if !s.read || s.lock.Reason == v1alpha1.EventReasonUntracked {
			continue
		}
		if n := len(all); n == 0 || !reflect.DeepEqual(all[n-1].Rules, s.rules) {
			all = append(all, RuleSet{From: s.at, Rules: s.rules})
		}
	}
	return inForce(all, since, func(r RuleSet) time.Time { return r.From })
}

// inForce returns the entries from a time on, and the last one before it: that one was in force then.
func inForce[T any](all []T, since time.Time, at func(T) time.Time) []T {
	first := 0
	for i := range all {
		if !at(all[i]).After(since) {
			first = i
		}
	}
	return all[first:]
}
