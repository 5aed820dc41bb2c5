package notify

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
)

const (
	// watchedEvery is the time between two lines that prove that an operator is watched. After a kill, at most this
	// time is a gap.
	watchedEvery = time.Minute
	// endedEvery is the time after which a file ends that is to be copied.
	endedEvery = time.Hour
	// pendingLength bounds the entries that wait for the disk.
	pendingLength = 10000
)

// sink appends events to a log of evidence. Its methods that begin with an upper-case letter are safe for concurrent
// use and never wait; run does the rest.
type sink struct {
	log   *evidence.Log
	clock clock.WithTicker
	to    logrus.FieldLogger
	// ask has the states of locks read, and all of them written if all is set.
	ask func(all bool)
	// ended has a file copied that has ended; nil without a bucket.
	ended func()

	watches map[string]*watch // by Lease
	states  *states

	mu      sync.Mutex // guards the rest
	pending []entry
	lost    evidence.Gap // the entries that were not written since the last one that was
	failed  error        // the last write, if it failed
	wake    chan struct{}
}

// entry is a call that run handles in its turn.
type entry struct {
	at     time.Time
	handle func(now time.Time) []*evidence.Line
	done   func()
}

// watch is what is known about the stream of a Lease.
type watch struct {
	proven time.Time // all events until then were read, by a line
	until  time.Time // all events until then were read
	before time.Time // the end of the connection before this one; zero after its first event
	at     message.Position
}

// newSink returns a sink for a directory. It continues the watches of its last lines.
func newSink(o EvidenceOptions, by clock.WithTicker, to logrus.FieldLogger) (*sink, error) {
	s := &sink{clock: by, to: to, ask: func(bool) {}, watches: map[string]*watch{}, states: newStates(),
		wake: make(chan struct{}, 1)}
	log, err := evidence.Open(o.Directory, o.Cluster, by, s.known)
	s.log = log
	return s, err
}

// Connected notes that an operator answers, from a position.
func (s *sink) Connected(lease string, from message.Position) {
	s.put(entry{handle: func(now time.Time) []*evidence.Line { return s.connected(lease, from, now) }})
}

// Alive notes a sign of life.
func (s *sink) Alive(lease string) {
	s.put(entry{handle: func(now time.Time) []*evidence.Line {
		if w := s.watches[lease]; w != nil {
			w.until = now
		}
		return nil
	}})
}

// Handle writes an event, or the end of a leader if m is nil, and calls done when it is on the disk, or lost.
func (s *sink) Handle(lease string, at message.Position, m *message.Message, done func()) {
	s.put(entry{done: done, handle: func(now time.Time) []*evidence.Line { return s.event(lease, at, m, now) }})
}

// Ready returns an error while lines cannot be written.
func (s *sink) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *sink) put(e entry) {
	e.at = s.clock.Now().UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) >= pendingLength {
		s.lose(e.at, 1)
		if e.done != nil {
			e.done()
		}
		return
	}
	s.pending = append(s.pending, e)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// lose counts lines that are not written. s.mu is held.
func (s *sink) lose(at time.Time, n int) {
	if s.lost.Count == 0 {
		s.lost = evidence.Gap{From: at, Reason: evidence.NotWritten}
	}
	s.lost.Count += n
}

// run writes until ctx ends, and then the rest.
func (s *sink) run(ctx context.Context) error {
	ticker := s.clock.NewTicker(watchedEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-s.wake:
			s.flush()
		case <-ticker.C():
			s.flush()
			s.write(s.proof())
			s.end(endedEvery)
			s.ask(false)
		case <-ctx.Done():
		}
	}
	s.flush()
	s.write(s.proof())
	s.end(0)
	return s.log.Close()
}

// flush handles the waiting entries, and writes their lines at once.
func (s *sink) flush() {
	s.mu.Lock()
	entries := s.pending
	s.pending = nil
	s.mu.Unlock()
	var lines []*evidence.Line
	for _, e := range entries {
		lines = append(lines, e.handle(e.at)...)
	}
	s.write(lines)
	for _, e := range entries {
		if e.done != nil {
			e.done()
		}
	}
}

// write appends lines, after one about those that were lost.
func (s *sink) write(lines []*evidence.Line) {
	if len(lines) == 0 {
		return
	}
	now := s.clock.Now().UTC()
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	written := lines
	if lost.Count > 0 {
		lost.Until = now
		written = append([]*evidence.Line{{Type: evidence.GapFound, Data: evidence.Data{Gap: &lost}}}, lines...)
	}
	ended, err := s.log.Append(written...)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && s.failed == nil:
		s.to.Errorf("evidence is lost: %v", err)
	case err == nil && s.failed != nil:
		s.to.Info("evidence is written again")
	}
	if s.failed = err; err != nil {
		s.lose(now, len(lines))
		return
	}
	if s.lost.Count -= lost.Count; s.lost.Count > 0 {
		s.lost.From = now
	}
	s.note(ended)
	if ended != "" || lost.Count > 0 { // a change of a lock may be among the lost lines
		s.ask(true)
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

func (w *watch) line(lease string) *evidence.Line {
	l := &evidence.Line{Type: evidence.Watched, Lease: lease, Data: evidence.Data{Watched: &evidence.Span{
		From: w.proven, Until: w.until, Position: w.at.String()}}}
	w.proven = w.until
	return l
}

func gap(lease string, g evidence.Gap) *evidence.Line {
	return &evidence.Line{Type: evidence.GapFound, Lease: lease, Data: evidence.Data{Gap: &g}}
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
