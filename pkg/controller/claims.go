package controller

import (
	"sync"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// claims are the locked objects that say they belong to another release: what becomes of them depends on its newest
// record. What an object says may mean two releases (newestOf). It is safe for concurrent use; the zero value is empty.
type claims struct {
	mu sync.Mutex
	of map[claim][]release.Key            // the releases that an object may mean
	by map[release.Key]map[claim]struct{} // the same, the other way round
}

// claim is an object of a lock.
type claim struct {
	lock *lock.Lock
	id   manifest.ID
}

// add records which releases an object may mean that says it belongs to another one; no longer those before.
func (c *claims) add(l *lock.Lock, id manifest.ID, others ...release.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := claim{l, id}
	c.forget(at)
	if c.of == nil {
		c.of, c.by = map[claim][]release.Key{}, map[release.Key]map[claim]struct{}{}
	}
	c.of[at] = others
	for _, other := range others {
		if c.by[other] == nil {
			c.by[other] = map[claim]struct{}{}
		}
		c.by[other][at] = struct{}{}
	}
}

// remove forgets the claim of an object.
func (c *claims) remove(l *lock.Lock, id manifest.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(claim{l, id})
}

// forget is called with c.mu held.
func (c *claims) forget(at claim) {
	for _, other := range c.of[at] {
		delete(c.by[other], at)
		if len(c.by[other]) == 0 {
			delete(c.by, other)
		}
	}
	delete(c.of, at)
}

// take returns, and forgets, the objects that say they belong to a release. They are judged again, and claim it again
// then.
func (c *claims) take(other release.Key) map[*lock.Lock]map[manifest.ID]struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := map[*lock.Lock]map[manifest.ID]struct{}{}
	for at := range c.by[other] {
		if taken[at.lock] == nil {
			taken[at.lock] = map[manifest.ID]struct{}{}
		}
		taken[at.lock][at.id] = struct{}{}
		c.forget(at)
	}
	return taken
}

// prune forgets the claims on behalf of locks that have ended.
func (c *claims) prune() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := range c.of {
		if at.lock.Closed() {
			c.forget(at)
		}
	}
}

// wanted reports whether an object says that it belongs to a release.
func (c *claims) wanted(other release.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.by[other]) > 0
}
