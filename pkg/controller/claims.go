package controller

import (
	"sync"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// claims are the locked objects with metadata of another release, by the name of that release. Their treatment depends
// on the newest records of releases of that name, in any namespace (owners). It is safe for concurrent use; the zero
// value is empty.
type claims struct {
	mu sync.Mutex
	of map[claim]release.Key         // the release named by an object
	by map[string]map[claim]struct{} // the same, the other way round
}

// claim is an object of a lock.
type claim struct {
	lock *lock.Lock
	id   manifest.ID
}

// add records the release named by an object, in place of the one before.
func (c *claims) add(l *lock.Lock, id manifest.ID, named release.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := claim{l, id}
	c.forget(at)
	if c.of == nil {
		c.of, c.by = map[claim]release.Key{}, map[string]map[claim]struct{}{}
	}
	c.of[at] = named
	if c.by[named.Name] == nil {
		c.by[named.Name] = map[claim]struct{}{}
	}
	c.by[named.Name][at] = struct{}{}
}

// remove forgets the claim of an object.
func (c *claims) remove(l *lock.Lock, id manifest.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(claim{l, id})
}

// forget is called with c.mu held.
func (c *claims) forget(at claim) {
	name := c.of[at].Name
	delete(c.by[name], at)
	if len(c.by[name]) == 0 {
		delete(c.by, name)
	}
	delete(c.of, at)
}

// take returns, and forgets, the objects with metadata of a release of a name, if match is true for the release. They
// are judged again, and then recorded again.
func (c *claims) take(name string, match func(release.Key) bool) map[*lock.Lock]map[manifest.ID]struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := map[*lock.Lock]map[manifest.ID]struct{}{}
	for at := range c.by[name] {
		if !match(c.of[at]) {
			continue
		}
		if taken[at.lock] == nil {
			taken[at.lock] = map[manifest.ID]struct{}{}
		}
		taken[at.lock][at.id] = struct{}{}
		c.forget(at)
	}
	return taken
}

// prune forgets the claims on behalf of ended locks.
func (c *claims) prune() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := range c.of {
		if at.lock.Closed() {
			c.forget(at)
		}
	}
}

// wanted reports whether an object names a release of this name.
func (c *claims) wanted(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.by[name]) > 0
}
