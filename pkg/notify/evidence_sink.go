package notify

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
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

const (
	// watchedEvery is the time between two lines that prove that an operator is watched. After a kill, at most this
	// time is a gap.
	watchedEvery = time.Minute
	// endedEvery is the time after which a file ends that is to be copied.
	endedEvery = time.Hour
	// pendingLength bounds the entries that wait for the disk.
	pendingLength = 10000
)

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

func (w *watch) line(lease string) *evidence.Line {
	l := &evidence.Line{Type: evidence.Watched, Lease: lease, Data: evidence.Data{Watched: &evidence.Span{
		From: w.proven, Until: w.until, Position: w.at.String()}}}
	w.proven = w.until
	return l
}

func gap(lease string, g evidence.Gap) *evidence.Line {
	return &evidence.Line{Type: evidence.GapFound, Lease: lease, Data: evidence.Data{Gap: &g}}
}
