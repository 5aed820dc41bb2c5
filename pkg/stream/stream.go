// Package stream serves the actions of an operator as one read-only stream of CloudEvents, a line of JSON for each. It
// keeps the newest events in memory. No caller waits for a reader: a slow or absent reader misses the oldest events,
// and gets their number instead.
package stream

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/viewer"
)

const (
	// kept bounds the events in memory; each has a few hundred bytes.
	kept = 1000
	// readersAtOnce bounds the readers, and readerAtOnce those of one user.
	readersAtOnce, readerAtOnce = 16, 2
	// waitTimeout bounds the wait of a reader for its place among the readers.
	waitTimeout = 5 * time.Second
	// beatEvery is the time between signs of life, by which a reader notices a dead connection.
	beatEvery = 5 * time.Second
	// writeTime bounds the time of a reader for a line.
	writeTime = 10 * time.Second
)

// Stream keeps the events of an operator and serves them. It is safe for concurrent use; a nil one keeps nothing.
type Stream struct {
	log         logrus.FieldLogger
	admit       Admit
	readers     *fair.Semaphore
	beat        time.Duration
	waitTimeout time.Duration

	mu     sync.Mutex // guards the rest; a leaf: nothing else is locked under it
	leader string     // the address of the leader, as a standby knows it
	at     message.Position
	events []event        // the oldest first
	count  map[string]int // of the events, by the namespace of the release
	open   int            // readers
	more   chan struct{}  // closed when there is an event or an end, or a reader has left
}

type event struct {
	sequence  int64
	namespace string
	*message.Message
}

// Admit returns the sender of a request, or the reason of a refusal.
type Admit func(*http.Request) (user string, refused *viewer.Refusal)

// New returns a stream for the readers that admit accepts.
func New(admit Admit, log logrus.FieldLogger) *Stream {
	return &Stream{
		log: log, admit: admit, beat: beatEvery,
		readers:     fair.NewSemaphore(fair.Limits{All: readersAtOnce, Each: readerAtOnce, Most: readerAtOnce}),
		waitTimeout: waitTimeout, count: map[string]int{}, more: make(chan struct{}),
	}
}

// Begin begins the stream: the operator leads since a transition of a Lease.
func (s *Stream) Begin(lease string, transition int64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.Lease == "" {
		s.at.Lease, s.at.Transition = lease, transition
	}
}

// Leader sets the address of the leader, for readers of a standby.
func (s *Stream) Leader(address string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader = address
}

// Send adds an event. It never waits. The message must not be changed afterwards. Events before Begin are served once
// the stream has begun; after End, nothing is added.
func (s *Stream) Send(m *message.Message) {
	if s == nil {
		return
	}
	namespace := ""
	if m.Release != nil {
		namespace = m.Release.Namespace
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.End {
		return
	}
	s.at.Sequence++
	s.events = append(s.events, event{s.at.Sequence, namespace, m})
	s.count[namespace]++
	if len(s.events) > kept {
		s.forget()
	}
	s.wake()
}

// forget removes the oldest event of the namespace with most events: endless drift in one namespace costs the others
// no event. s.mu is held.
func (s *Stream) forget() {
	most := ""
	for namespace, n := range s.count {
		if n > s.count[most] {
			most = namespace
		}
	}
	oldest := slices.IndexFunc(s.events, func(e event) bool { return e.namespace == most })
	s.events = slices.Delete(s.events, oldest, oldest+1)
	if s.count[most]--; s.count[most] == 0 {
		delete(s.count, most)
	}
}

// wake wakes all waiting readers. s.mu is held.
func (s *Stream) wake() {
	close(s.more)
	s.more = make(chan struct{})
}

// End ends the stream and waits until its readers have all events, or ctx ends.
func (s *Stream) End(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.at.End = true
	s.wake()
	for s.open > 0 && ctx.Err() == nil {
		more := s.more
		s.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
}

// next returns the first event after a position, and the number of missing events between them. Without an event it
// returns a channel, which closes with the next one, or sets end after the last one.
func (s *Stream) next(after int64) (e event, missing int64, more <-chan struct{}, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, _ := slices.BinarySearchFunc(s.events, after+1, func(e event, sequence int64) int {
		return int(e.sequence - sequence)
	})
	if place == len(s.events) {
		return event{}, 0, s.more, s.at.End
	}
	e = s.events[place]
	return e, e.sequence - after - 1, nil, false
}

// resume returns the position after a reader's last one. unknown is set when the reader may have missed events of
// earlier leaders.
func (s *Stream) resume(after message.Position) (from message.Position, unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = message.Position{Lease: s.at.Lease, Transition: s.at.Transition}
	switch {
	case after == message.Position{}: // it has read none, and gets all events in memory
		if len(s.events) > 0 {
			from.Sequence = s.events[0].sequence - 1
		}
		return from, false
	case after.Lease == s.at.Lease && after.Transition == s.at.Transition && after.Sequence <= s.at.Sequence:
		from.Sequence = after.Sequence
		return from, false
	}
	// It has all events of the leader before this one.
	follows := after.Lease == s.at.Lease && after.Transition+1 == s.at.Transition && after.End
	return from, !follows
}
