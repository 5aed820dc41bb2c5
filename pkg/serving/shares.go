package serving

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"
)

// ErrTooMany is returned to a client that has reached its limit of concurrent requests.
var ErrTooMany = errors.New("too many requests at once; try again in some seconds")

// Shares divide a server's concurrent work among its clients. A waiting client has only a few places in the queue, so
// that one client does not keep all others waiting.
type Shares struct {
	slots      *semaphore.Weighted
	each, most int

	mu      sync.Mutex // guards the rest
	clients map[string]*client
}

// client is the concurrent work of one client, as long as it has some.
type client struct {
	turns *semaphore.Weighted
	has   int // at work or waiting
}

// NewShares returns Shares of all concurrent units. A client has at most each of them at work, and at most this
// number (most) at work or waiting.
func NewShares(all, each, most int) *Shares {
	return &Shares{slots: semaphore.NewWeighted(int64(all)), each: each, most: most, clients: map[string]*client{}}
}

// Do does some work for a client in its turn. The error is that of the work, ErrTooMany, or the reason why ctx ended
// before the work began.
func (s *Shares) Do(ctx context.Context, who string, work func() error) error {
	c := s.enter(who)
	if c == nil {
		return ErrTooMany
	}
	defer s.leave(who, c)
	// The client's turn first: requests waiting for a slot are then of different clients.
	if err := c.turns.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.turns.Release(1)
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.slots.Release(1)
	return work()
}

// enter returns the client, with one more under way; nil when it has as much as it may.
func (s *Shares) enter(who string) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[who]
	if c == nil {
		c = &client{turns: semaphore.NewWeighted(int64(s.each))}
		s.clients[who] = c
	}
	if c.has >= s.most {
		return nil
	}
	c.has++
	return c
}

func (s *Shares) leave(who string, c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.has--; c.has == 0 {
		delete(s.clients, who)
	}
}
