package controller

import (
	"context"
	"sync"
	"time"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// Time between two attempts to find out whether something that was done may stay: doubled every time.
const (
	askAgainFirst  = 50 * time.Millisecond
	askAgainLatest = time.Minute
)

// awaitAnswer asks whether something that was done may stay until there is an answer. It does not give up while the API
// server does not answer: an object that Helm meant to be gone would stay for good, or one that Helm counts on would be
// gone. It delays no other release: the caller has no slot. Whatever changes about the records of the release makes it
// ask at once, and otherwise less and less often.
func (pr *pruning) awaitAnswer(
	ctx context.Context, l *lock.Lock, confirm func(context.Context) (bool, error),
) (stay bool) {
	log := pr.Log.WithField("release", l.Release.String())
	for delay := askAgainFirst; ; delay = min(2*delay, askAgainLatest) {
		changed := pr.changes.next(l.Release) // before the question, so that no change is missed
		stay, err := confirm(ctx)
		if err == nil {
			return stay
		}
		if !transient(err) {
			// Refused for good, as when an account may create and not delete.
			e := unconfirmedEvent(err)
			log.Warn(e.text)
			pr.reporter.event(pr.cached(l.Key), e)
			return stay
		}
		log.Warnf("cannot tell whether Helm is at work after a creation or deletion: %s; asking again in %s",
			safeError(err), delay)
		timer := pr.Clock.NewTimer(delay)
		select {
		case <-timer.C():
		case <-changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			log.Warnf("a creation or deletion was not confirmed: %v", ctx.Err())
			return false
		}
	}
}

// changes tell when something about the records of a release changes. They are safe for concurrent use; the zero value
// is empty.
type changes struct {
	mu    sync.Mutex
	waits map[release.Key]chan struct{}
}

// next returns a channel that is closed at the next change of a release.
func (c *changes) next(key release.Key) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits == nil {
		c.waits = map[release.Key]chan struct{}{}
	}
	if c.waits[key] == nil {
		c.waits[key] = make(chan struct{})
	}
	return c.waits[key]
}

// happened records a change of a release.
func (c *changes) happened(key release.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := c.waits[key]; wait != nil {
		close(wait)
		delete(c.waits, key)
	}
}
