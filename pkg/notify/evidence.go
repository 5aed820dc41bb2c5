package notify

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
)

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

// end ends the open file if it is that old and there is a bucket.
func (s *sink) end(age time.Duration) {
	if s.ended == nil {
		return
	}
	ended, err := s.log.End(age)
	if err != nil {
		s.to.Errorf("evidence goes on in the same file: %v", err)
	}
	s.note(ended)
}

// note logs the digest at which a file ended, and has the file copied.
func (s *sink) note(ended string) {
	if ended == "" {
		return
	}
	// A copy of the digest that is kept elsewhere proves the file.
	s.to.WithField("digest", ended).Info("a file of evidence has ended")
	if s.ended != nil {
		s.ended()
	}
}
