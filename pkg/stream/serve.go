package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/serving"
)

// ServeHTTP answers a reader with the right to the path, over TLS: a token does not travel without. The query parameter
// after is the id of the reader's last event; the answer begins with the next one.
func (s *Stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !serving.Encrypted(r) {
		http.Error(w, "a token is only taken over TLS: ask by https", http.StatusBadRequest)
		return
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "the stream is read-only", http.StatusMethodNotAllowed)
		return
	}
	user, refused := s.admit(r)
	if refused != nil {
		refused.Write(w)
		return
	}
	after, err := message.ParsePosition(r.URL.Query().Get("after"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !s.enter(w) {
		return
	}
	defer s.leave()
	waiting, cancel := context.WithTimeout(r.Context(), s.waitTimeout)
	defer cancel()
	err = s.readers.Do(waiting, user, func() error { return s.send(w, r, after) })
	switch {
	case errors.Is(err, errBroken): // so that the reader does not take the end for the end of the stream
		panic(http.ErrAbortHandler)
	case err != nil:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many readers", http.StatusTooManyRequests)
	}
}

// enter counts a reader in. A standby answers with the address of the leader.
func (s *Stream) enter(w http.ResponseWriter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.Lease != "" {
		s.open++
		return true
	}
	text := "this replica stands by"
	if s.leader != "" {
		w.Header().Set("Location", "https://"+s.leader+lease.EventsPath)
		text += "; the leader is at " + s.leader
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, text, http.StatusServiceUnavailable)
	return false
}

func (s *Stream) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.wake()
}

// errBroken is the end of an answer before the end of the stream.
var errBroken = errors.New("the reader has disconnected, is too slow, or has lost the right to read")

// send sends all events after a position, until the stream ends.
func (s *Stream) send(w http.ResponseWriter, r *http.Request, after message.Position) error {
	out := &lines{w: w, to: http.NewResponseController(w)}
	// The time limit of a request is none of a stream: each write has its own.
	if err := out.to.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	at, unknown := s.resume(after)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set(lease.EventsPosition, at.String())
	out.line(nil)
	if unknown {
		out.event(at, missed(0, true))
	}
	beat := time.NewTicker(s.beat)
	defer beat.Stop()
	for out.err == nil {
		e, missing, more, end := s.next(at.Sequence)
		switch {
		case end:
			out.flush()
			return out.broken()
		case more == nil:
			if missing > 0 {
				at.Sequence = e.sequence - 1
				out.event(at, missed(missing, false))
			}
			at.Sequence = e.sequence
			out.event(at, e.Message)
			continue
		}
		out.flush()
		select {
		case <-more:
		case <-beat.C:
			// The end of a right ends the answer, which may have begun long ago.
			if _, refused := s.admit(r); refused != nil {
				return errBroken
			}
			out.line(nil)
		case <-r.Context().Done():
			return errBroken
		}
	}
	return out.broken()
}

// missed returns the message to a reader about missing events.
func missed(count int64, unknown bool) *message.Message {
	now := time.Now().UTC()
	return &message.Message{Type: message.MessagesWereLost, Time: now,
		Lost: &message.Lost{Count: int(count), Unknown: unknown, Since: now}}
}

// lines writes to one reader; after the first error it writes no more.
type lines struct {
	w   http.ResponseWriter
	to  *http.ResponseController
	err error
}

func (l *lines) event(at message.Position, m *message.Message) {
	text, err := json.Marshal(message.Event{ID: at.String(), Message: m})
	if err != nil {
		l.err = err
	}
	l.line(text)
}

func (l *lines) line(text []byte) {
	if l.err == nil {
		l.err = l.to.SetWriteDeadline(time.Now().Add(writeTime))
	}
	if l.err == nil {
		_, l.err = l.w.Write(append(text, '\n'))
	}
}

func (l *lines) flush() {
	if l.err == nil {
		l.err = l.to.Flush()
	}
}

func (l *lines) broken() error {
	if l.err != nil {
		return fmt.Errorf("%w: %w", errBroken, l.err)
	}
	return nil
}
