// Package claims has the relations of releases to objects that name them: which locked objects name another release,
// and which records declare an object.
package claims

import (
	"maps"
	"sync"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Claims are the locked objects with metadata of another release, by the name of that release. Their treatment depends
// on the newest records of releases of that name, in any namespace (see Owners). It is safe for concurrent use; the
// zero value is empty.
type Claims struct {
	mu sync.Mutex
	of map[claim]release.Key // the release named by an object
}

// claim is an object of a lock.
type claim struct {
	lock *lock.Lock
	id   manifest.ID
}

// Add records the release named by an object, in place of the one before.
func (c *Claims) Add(l *lock.Lock, id manifest.ID, named release.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[claim]release.Key{}
	}
	c.of[claim{l, id}] = named
}

// Remove forgets the claim of an object.
func (c *Claims) Remove(l *lock.Lock, id manifest.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, claim{l, id})
}

// Take returns, and forgets, the objects with metadata of a release of a name, if match is true for the release. They
// are judged again, and then recorded again.
func (c *Claims) Take(name string, match func(release.Key) bool) map[*lock.Lock]map[manifest.ID]struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := map[*lock.Lock]map[manifest.ID]struct{}{}
	maps.DeleteFunc(c.of, func(at claim, named release.Key) bool {
		if named.Name != name || !match(named) {
			return false
		}
		if taken[at.lock] == nil {
			taken[at.lock] = map[manifest.ID]struct{}{}
		}
		taken[at.lock][at.id] = struct{}{}
		return true
	})
	return taken
}

// Prune forgets the claims on behalf of ended locks.
func (c *Claims) Prune() {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.of, func(at claim, _ release.Key) bool { return at.lock.Closed() })
}

// Wanted reports whether an object names a release of this name.
func (c *Claims) Wanted(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, named := range c.of {
		if named.Name == name {
			return true
		}
	}
	return false
}
