package notify

import (
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
)

// known continues the watch of a line, and records a refused request.
func (s *sink) known(l *evidence.Line) {
	if l.Type == evidence.Denied && l.Data.HelmRelease != nil && l.Data.Drift != nil {
		key := *l.Data.HelmRelease
		s.states.denied[key] = append(s.states.denied[key], *l.Data.Drift)
	}
	text := l.ID
	if l.Data.Watched != nil {
		text = l.Data.Watched.Position
	}
	at, err := message.ParsePosition(text)
	if l.Lease == "" || err != nil {
		return
	}
	w := s.watches[l.Lease]
	if w == nil {
		w = &watch{}
		s.watches[l.Lease] = w
	}
	w.at = at
	if l.Data.Watched != nil {
		w.proven, w.until = l.Data.Watched.Until, l.Data.Watched.Until
	}
}

// proof returns a line for each operator that was read since the last one.
func (s *sink) proof() []*evidence.Line {
	var lines []*evidence.Line
	for lease, w := range s.watches {
		if w.until.After(w.proven) {
			lines = append(lines, w.line(lease))
		}
	}
	return lines
}

// connected continues a watch if the stream goes on at its position: the operator has kept the events in between.
// Otherwise the time until now is a gap.
func (s *sink) connected(lease string, from message.Position, now time.Time) []*evidence.Line {
	s.ask(true)
	w := s.watches[lease]
	if w != nil && !w.at.End && w.at.Lease == from.Lease && w.at.Transition == from.Transition &&
		from.Sequence <= w.at.Sequence {
		w.before, w.until = w.until, now
		return []*evidence.Line{w.line(lease)}
	}
	next := &watch{proven: now, until: now, at: from}
	s.watches[lease] = next
	if w == nil {
		return []*evidence.Line{next.line(lease)}
	}
	reason := evidence.OperatorChanged
	if follows := w.at.Lease == from.Lease && w.at.Transition+1 == from.Transition; w.at.End && follows {
		reason = evidence.OperatorStopped
	}
	lines := []*evidence.Line{}
	if w.until.After(w.proven) {
		lines = append(lines, w.line(lease))
	}
	return append(lines, gap(lease, evidence.Gap{From: w.until, Until: now, Reason: reason}), next.line(lease))
}

// event returns the line of an event, unless there is one, and one about events that the operator had no more.
func (s *sink) event(lease string, at message.Position, m *message.Message, now time.Time) []*evidence.Line {
	w := s.watches[lease]
	if w == nil { // its first lines were lost
		w = &watch{proven: now, until: now}
		s.watches[lease] = w
	}
	known := w.at.Lease == at.Lease && w.at.Transition == at.Transition && at.Sequence <= w.at.Sequence
	if m == nil {
		w.at, w.until = at, now
		return []*evidence.Line{w.line(lease)}
	}
	if known && m.Lost == nil {
		return nil
	}
	if m.Type == message.DriftDenied { // the states have it, of all replicas
		w.at, w.until = at, now
		return nil
	}
	lines := []*evidence.Line{{ID: at.String(), Type: m.Type, Time: m.Time, Lease: lease,
		Data: evidence.Data{Message: *m}}}
	if m.Lost != nil && !m.Lost.Unknown { // of an unknown number, the change of the operator is the gap
		from := w.before
		if from.IsZero() {
			from = w.proven
		}
		lines = append(lines, gap(lease, evidence.Gap{From: from, Until: now, Reason: evidence.EventsMissed,
			Count: m.Lost.Count}))
	}
	if m.Lock != nil && m.HelmRelease != nil {
		s.states.told(m)
		if m.Lock.Reason == v1alpha1.ReasonSuspended || m.Lock.Locked {
			s.ask(false) // the reason of the pause, or the writer of the record
		}
	}
	w.at, w.until, w.before = at, now, time.Time{}
	return lines
}
