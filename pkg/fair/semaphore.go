// Package fair shares resources among tenants: a demanding tenant gets its share, and no other waits for it. A tenant
// is a namespace, because the right to write is granted by namespace, or a client of an HTTP server.
package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Limits bound concurrent work.
type Limits struct {
	All  int // slots in total
	Each int // slots of one tenant
	// Slow is the time for which a slot counts for all. A slot held longer counts for its tenant only: requests that
	// wait for a tenant's webhook take slots from no other tenant. Zero is for ever.
	Slow time.Duration
	// Most is how many callers of one tenant may hold a slot or wait for one; zero for any number.
	Most int
}

// ErrBusy is the error of a caller that cannot wait, because enough others of its tenant do: Limits.Most.
var ErrBusy = errors.New("too many of the same tenant hold a slot or wait")

// Semaphore grants slots to tenants. Waiting tenants take turns, one slot each, however many slots a tenant requests.
// It is safe for concurrent use.
type Semaphore struct {
	Limits
	// after calls a function once a time has passed, unless the returned function is called before.
	after func(time.Duration, func()) (stop func() bool)

	mu      sync.Mutex
	held    int // slots that count for all
	queued  int // callers that wait
	tenants map[string]*tenant
	// rotation has the waiting tenants, the next one first.
	rotation []*tenant
}

// tenant is one that holds slots or waits for some. Semaphore.mu guards it.
type tenant struct {
	held    int
	waiting []chan struct{} // each closed when its slot is there
}

// NewSemaphore returns a semaphore with all slots free.
func NewSemaphore(l Limits) *Semaphore {
	after := func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	return &Semaphore{Limits: l, after: after, tenants: map[string]*tenant{}}
}

// Do does some work in a slot of the tenant. The error is that of Acquire, before the work, or that of the work.
func (s *Semaphore) Do(ctx context.Context, name string, work func() error) error {
	release, err := s.Acquire(ctx, name)
	defer release()
	if err != nil {
		return err
	}
	return work()
}

// Acquire returns a slot of the tenant as soon as one is free, the error of ctx if that ends before, and ErrBusy at
// once if enough callers of the tenant do. release returns the slot; it may be called more than once.
func (s *Semaphore) Acquire(ctx context.Context, name string) (release func(), err error) {
	s.mu.Lock()
	t := s.tenants[name]
	if t == nil {
		t = &tenant{}
		s.tenants[name] = t
	}
	if s.Most > 0 && t.held+len(t.waiting) >= s.Most {
		s.mu.Unlock()
		return func() {}, ErrBusy
	}
	ready := make(chan struct{})
	if len(t.waiting) == 0 {
		s.rotation = append(s.rotation, t)
	}
	t.waiting = append(t.waiting, ready)
	s.queued++
	s.grant()
	s.mu.Unlock()

	select {
	case <-ready:
		return s.hold(name, t), nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	granted := !s.forget(t, ready)
	s.tidy(name, t)
	s.mu.Unlock()
	if granted { // at the same moment
		s.hold(name, t)()
	}
	return func() {}, ctx.Err()
}

// grant grants slots to waiting callers, in turns. s.mu is held.
func (s *Semaphore) grant() {
	for i := 0; i < len(s.rotation) && s.held < s.All; {
		t := s.rotation[i]
		if t.held >= s.Each {
			i++
			continue
		}
		ready := t.waiting[0]
		t.waiting = t.waiting[1:]
		s.rotation = slices.Delete(s.rotation, i, i+1)
		if len(t.waiting) > 0 {
			s.rotation = append(s.rotation, t)
		}
		s.queued--
		s.held++
		t.held++
		close(ready)
	}
}

// forget removes a caller from the waiting ones, and reports whether it was one of them. s.mu is held.
func (s *Semaphore) forget(t *tenant, ready chan struct{}) bool {
	i := slices.Index(t.waiting, ready)
	if i < 0 {
		return false
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	s.queued--
	if len(t.waiting) == 0 {
		s.rotation = slices.DeleteFunc(s.rotation, func(other *tenant) bool { return other == t })
	}
	return true
}

// tidy removes a tenant without a slot or a waiting caller. s.mu is held.
func (s *Semaphore) tidy(name string, t *tenant) {
	if t.held == 0 && len(t.waiting) == 0 {
		delete(s.tenants, name)
	}
}

// hold returns the function that returns a granted slot.
func (s *Semaphore) hold(name string, t *tenant) (release func()) {
	var counts, ended sync.Once // for all, for the tenant
	yield := func() {
		counts.Do(func() { s.held-- })
		s.grant()
	}
	stop := func() bool { return false }
	if s.Slow > 0 {
		stop = s.after(s.Slow, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			yield()
		})
	}
	return func() {
		ended.Do(func() {
			stop()
			s.mu.Lock()
			defer s.mu.Unlock()
			t.held--
			yield()
			s.tidy(name, t)
		})
	}
}

// Waiting returns how many callers wait for a slot.
func (s *Semaphore) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued
}
