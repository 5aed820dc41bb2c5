package enforce

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/rancher/helm-locker/pkg/release"
)

// ErrNotNewest says that the newest record of a release is not the one that is locked: Helm has begun to work.
var ErrNotNewest = errors.New("the newest record of the release is another one")

// UncheckedError says that nothing was written because a Check did not pass, and why: ErrNotNewest, what kept the record from
// being read, or the end of the context.
type UncheckedError struct{ Err error }

func (e *UncheckedError) Error() string { return fmt.Sprintf("not written: %v", e.Err) }

// Unwrap returns why.
func (e *UncheckedError) Unwrap() error { return e.Err }

// Check is the question whether a record still is the newest of its release, and the answer once it is there. It is safe for
// concurrent use.
type Check struct {
	done chan struct{}
	err  error // set before done is closed
}

func newCheck(ctx context.Context, p *Prover, rec release.Record) *Check {
	c := &Check{done: make(chan struct{})}
	p.work.Go(func(context.Context) {
		defer close(c.done)
		// Not counted as under way: the writes that follow are, and one that is prepared meanwhile is already.
		holds, err := p.holds(ctx, rec)
		if err == nil && !holds {
			err = ErrNotNewest
		}
		c.err = err
	})
	// An operator that has little to do has one processor, and would only ask once whoever began this has nothing else to do: the
	// question goes out first, and what is done next is done while the API server answers.
	runtime.Gosched()
	return c
}

// Passed waits for the answer and returns nil if the record is the newest, ErrNotNewest if it is not, and another error if that
// cannot be told.
func (c *Check) Passed(ctx context.Context) error {
	if c.answered() { // also when nobody waits any more
		return c.err
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answered says whether the answer is there.
func (c *Check) answered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// allow is asked before an object is written to.
func (c *Check) allow(ctx context.Context) error {
	if c == nil {
		return nil
	}
	if err := c.Passed(ctx); err != nil {
		return &UncheckedError{err}
	}
	return nil
}
