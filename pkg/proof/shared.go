package proof

import (
	"context"
	"sync"
)

// shared lets callers with the same question share one run for the answer. A run begins after its callers have asked:
// later callers get the answer of the next run.
type shared[K comparable, T any] struct {
	// run gets an answer for a number of callers, and calls done with it. The next run for the key begins when it
	// returns.
	run  func(ctx context.Context, key K, callers int, done func(T, error))
	work *background

	mu      sync.Mutex
	next    map[K]*answer[T] // of runs that have not begun
	running map[K]bool
}

// answer is the result of one run for its waiting callers.
type answer[T any] struct {
	callers int
	done    chan struct{}
	// Set before done is closed.
	result T
	err    error
}

func newShared[K comparable, T any](
	work *background, run func(ctx context.Context, key K, callers int, done func(T, error)),
) *shared[K, T] {
	return &shared[K, T]{run: run, work: work, next: map[K]*answer[T]{}, running: map[K]bool{}}
}

// get returns the answer of a run that begins after the call. A caller whose ctx ends leaves the run to the others.
func (s *shared[K, T]) get(ctx context.Context, key K) (result T, err error) {
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	a := s.join(key)
	select {
	case <-a.done:
		return a.result, a.err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

func (s *shared[K, T]) join(key K) *answer[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next[key] == nil {
		s.next[key] = &answer[T]{done: make(chan struct{})}
	}
	s.next[key].callers++
	if !s.running[key] {
		s.running[key] = true
		s.work.begin(func(ctx context.Context) { s.serve(ctx, key) })
	}
	return s.next[key]
}

// serve runs as long as there are callers.
func (s *shared[K, T]) serve(ctx context.Context, key K) {
	for {
		s.mu.Lock()
		a := s.next[key]
		delete(s.next, key)
		if a == nil {
			delete(s.running, key)
		}
		s.mu.Unlock()
		if a == nil {
			return
		}
		s.run(ctx, key, a.callers, func(result T, err error) {
			a.result, a.err = result, err
			close(a.done)
		})
	}
}

// background is work for several callers, and so must not end when one of them gives up. It ends with close.
type background struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
}

func newBackground() *background {
	b := &background{}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

func (b *background) begin(f func(context.Context)) { b.group.Go(func() { f(b.ctx) }) }

func (b *background) close() {
	b.cancel()
	b.group.Wait()
}
