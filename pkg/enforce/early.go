package enforce

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// holdPatience bounds for how long a request that was begun early waits for its Check. All the while the API server counts
	// it among those under way, of which it may allow few, and the Check may need to be one of them.
	holdPatience = time.Second
	// holdRest is for how long no request is begun early after a Check that did not pass, or took long: what is known of the records
	// is behind, and the next one would have to be withdrawn, too.
	holdRest = time.Minute
)

// early begins the requests of writes before it is known whether they may be made: everything but the body is sent while the
// Check is under way, and the body when it has passed. What the API server does with a request before it reads the body (who asks,
// whether they may, whose turn it is) is a sixth of the time of a write, and nothing can come of a request whose body is missing. If the
// Check does not pass, a body follows that is no patch. It is safe for concurrent use.
type early struct {
	patience time.Duration

	mu        sync.Mutex
	notBefore time.Time // when the next request may be begun early
}

// begin returns what holds back the body of a request that is begun now, nil when it should rather wait for its Check.
func (e *early) begin(c *Check) *hold {
	if e == nil || c == nil || c.answered() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Now().Before(e.notBefore) {
		return nil
	}
	return &hold{early: e, check: c}
}

// rest has nothing begun early for a while.
func (e *early) rest() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notBefore = time.Now().Add(holdRest)
}

// hold keeps the body of one request back until the Check has passed.
type hold struct {
	early *early
	check *Check

	sent      atomic.Bool // or may have been: what became of it is for the API server to say
	withdrawn atomic.Bool // because the Check took long, so that the request is to be made again
}

var errHeldTooLong = errors.New("withdrawn: the check takes long")

// wait returns nil when the Check has passed, and an error when the body is not to be sent.
func (h *hold) wait(ctx context.Context) error {
	if err := h.gone(); err != nil {
		return err
	}
	patience := time.NewTimer(h.early.patience)
	defer patience.Stop()
	select {
	case <-h.check.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
		if !h.check.answered() {
			h.early.rest()
			h.withdrawn.Store(true)
			return errHeldTooLong
		}
	}
	if h.check.err != nil {
		return h.check.err
	}
	h.sent.Store(true)
	return nil
}

// gone returns why the body is not to be sent any more, nil as long as it may be.
func (h *hold) gone() error {
	if h.withdrawn.Load() {
		return errHeldTooLong
	}
	if h.check.answered() {
		return h.check.err
	}
	return nil
}
