package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// watchHold holds matching streams; it is active while it is in Proxy.holds.
type watchHold struct{ match Match }

// stream is the body of one open watch on its way to the client. It reads from the API server at once, so that a held
// watch is not ended for being slow, and forwards in order while no hold is active.
type stream struct {
	proxy    *Proxy
	request  *http.Request
	upstream io.ReadCloser
	// detach ends the observation of the request's context.
	detach func() bool

	// changed is signalled, with proxy.mu held, when anything below or the holds have changed. Proxy.mu guards it all.
	changed *sync.Cond
	pending []byte
	// last is the last byte sent by the API server: a line end between two events of a stream of JSON.
	last byte
	// end is the end of the API server's stream, forwarded after all pending bytes.
	end error
	// broken ends the stream at once and discards pending bytes.
	broken error
}

var (
	errCut    = errors.New("the watch was cut by the test")
	errClosed = errors.New("the watch was closed by the client")
)

// HoldWatch holds the events of matching watch streams, both open ones and later ones, until release is called.
// Release forwards everything in order. Headers are not held: a client has an established watch without events. (A
// client that lists by watching, as client-go does, gets no initial list either.) Several holds add up. Release may
// be called more than once.
func (p *Proxy) HoldWatch(match Match) (release func()) {
	hold := &watchHold{match: match}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds[hold] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.holds, hold)
		for s := range p.streams {
			s.changed.Broadcast()
		}
	}
}

// CutWatches breaks the connections of matching open watches and returns their number. Held events are lost, as in a
// network failure: the clients have to watch again from their last resource version.
func (p *Proxy) CutWatches(match Match) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := 0
	for s := range p.streams {
		if match.matches(s.request) && s.broken == nil {
			s.breakWith(errCut)
			cut++
		}
	}
	return cut
}

// Inject adds events, each a line of JSON, to the matching open watches, as if the API server had sent them, and
// returns the number of these watches. It skips watches in the middle of an event.
func (p *Proxy) Inject(match Match, events []byte) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	injected := 0
	for s := range p.streams {
		if match.matches(s.request) && s.broken == nil && s.last == '\n' {
			s.pending = append(s.pending, events...)
			s.changed.Broadcast()
			injected++
		}
	}
	return injected
}

// Unread returns how many bytes of matching watches are on their way to the client.
func (p *Proxy) Unread(match Match) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for s := range p.streams {
		if match.matches(s.request) {
			n += len(s.pending)
		}
	}
	return n
}

// Watches returns the number of matching open watches.
func (p *Proxy) Watches(match Match) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := 0
	for s := range p.streams {
		if match.matches(s.request) && s.broken == nil {
			open++
		}
	}
	return open
}

// newStream wraps the body of an answer to a watch request.
func (p *Proxy) newStream(request *http.Request, body io.ReadCloser) *stream {
	s := &stream{proxy: p, request: request, upstream: body, changed: sync.NewCond(&p.mu)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams[s] = struct{}{}
	s.detach = context.AfterFunc(request.Context(), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.breakWith(errClosed)
	})
	p.inFlight.Go(s.receive)
	return s
}

// receive reads from the API server until its stream ends, or Close ends it.
func (s *stream) receive() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := s.upstream.Read(buffer)
		s.proxy.mu.Lock()
		s.pending = append(s.pending, buffer[:n]...)
		if n > 0 {
			s.last = buffer[n-1]
		}
		s.end = err
		s.changed.Broadcast()
		s.proxy.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read returns pending bytes; it blocks while there are none or the stream is held.
func (s *stream) Read(into []byte) (int, error) {
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	for {
		switch {
		case s.broken != nil:
			return 0, s.broken
		case s.held():
		case len(s.pending) > 0:
			n := copy(into, s.pending)
			if s.pending = s.pending[n:]; len(s.pending) == 0 {
				s.pending = nil // a burst leaves no buffer of its size behind
			}
			return n, nil
		case s.end != nil:
			return 0, s.end
		}
		s.changed.Wait()
	}
}

// Close ends the stream in both directions.
func (s *stream) Close() error {
	s.detach()
	s.proxy.mu.Lock()
	s.breakWith(errClosed)
	delete(s.proxy.streams, s)
	s.proxy.mu.Unlock()
	return s.upstream.Close()
}

// held reports whether any hold applies; proxy.mu is held.
func (s *stream) held() bool {
	for hold := range s.proxy.holds {
		if hold.match.matches(s.request) {
			return true
		}
	}
	return false
}

// breakWith ends the stream for the client, the first reason wins; proxy.mu is held.
func (s *stream) breakWith(reason error) {
	if s.broken == nil {
		s.broken = reason
	}
	s.changed.Broadcast()
}

// Blind breaks the matching watches, and refuses new ones until sight is called. The first one after that is told that
// its resource version has expired; expired reports whether it was. (The list after a gap shows the changes of the gap
// where Kubernetes is older than 1.32: it has no lists by watch.)
func (p *Proxy) Blind(match Match) (sight func(), expired func() bool) {
	var sees, told atomic.Bool
	p.Intercept(func(r *http.Request) Action {
		from := r.URL.Query().Get("resourceVersion")
		switch {
		case !match(r):
		case !sees.Load():
			return Drop()
		case from != "" && from != "0" && told.CompareAndSwap(false, true):
			return Fail(http.StatusGone, "too old resource version")
		}
		return Forward()
	})
	p.CutWatches(match)
	return func() { sees.Store(true) }, told.Load
}
