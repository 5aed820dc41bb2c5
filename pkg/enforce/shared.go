package enforce

import "context"

// shared lets all who want the same done share one turn of doing it, which begins after they asked for it: who
// comes while a turn is under way gets the next one. Its methods are called with a lock of the user's held.
type shared[T any] struct{ current, next *turn[T] }

// turn is one time that something is done for all who joined it.
type turn[T any] struct {
	joined int // who waits for it, beside the one who carries it out
	begun  bool
	done   chan struct{}
	// Set before done is closed.
	result T
	err    error
}

// join returns the turn to wait for, and whether the caller has to have it carried out.
func (s *shared[T]) join() (t *turn[T], lead bool) {
	if s.current == nil {
		s.current = &turn[T]{done: make(chan struct{})}
		return s.current, true
	}
	t = s.current
	if t.begun {
		if s.next == nil {
			s.next = &turn[T]{done: make(chan struct{})}
		}
		t = s.next
	}
	t.joined++
	return t, false
}

// begin closes the current turn to those who come later.
func (s *shared[T]) begin() { s.current.begun = true }

// advance makes the next turn the current one, which the caller has to have carried out, and returns it; nil when
// nobody waits.
func (s *shared[T]) advance() *turn[T] {
	s.current, s.next = s.next, nil
	return s.current
}

// end lets those go on who wait for a turn.
func (t *turn[T]) end(result T, err error) {
	t.result, t.err = result, err
	close(t.done)
}

// wait waits for the end of a turn and returns what came of it.
func (t *turn[T]) wait(ctx context.Context) (result T, err error) {
	select {
	case <-t.done:
		return t.result, t.err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}
