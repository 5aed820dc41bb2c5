package lock

import (
	"maps"
	"slices"
	"sync"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Table maps objects to their locks. Every object has one owner at most. Otherwise two releases with the same object
// would revert each other's content for ever. It is safe for concurrent use.
type Table struct {
	mu     sync.RWMutex
	owners map[short]*Lock
	locks  map[string]*Lock      // by HelmRelease key
	byName map[release.Key]*Lock // by what objects say they belong to
}

// short is a manifest.ID in fewer bytes: kinds are few.
type short struct {
	kind            unique.Handle[schema.GroupKind]
	namespace, name string
}

func shortOf(id manifest.ID) short { return short{unique.Make(id.GroupKind()), id.Namespace, id.Name} }

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{owners: map[short]*Lock{}, locks: map[string]*Lock{}, byName: map[release.Key]*Lock{}}
}

// Conflict is a declared object of a lock that another lock owns.
type Conflict struct {
	ID    manifest.ID
	Owner string // key of the owning HelmRelease
}

// Put makes l the lock of its HelmRelease in place of an earlier one, and closes the earlier one. An object of an older
// HelmRelease stays with it, is removed from l and returned. An object of a younger one is transferred to l, and the
// key of that HelmRelease is returned as displaced: it must be reconciled. The order is by creation time, then by key,
// so a restart of the operator gives the same result.
func (t *Table) Put(l *Lock) (conflicts []Conflict, displaced []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(l.Key)
	t.locks[l.Key] = l
	if known := t.byName[l.As]; known == nil || known.Release != known.As {
		t.byName[l.As] = l // before a release whose record is stored in another namespace
	}
	lost := map[*Lock]map[manifest.ID]struct{}{}
	loses := func(l *Lock, id manifest.ID) {
		if lost[l] == nil {
			lost[l] = map[manifest.ID]struct{}{}
		}
		lost[l][id] = struct{}{}
	}
	for _, o := range l.Objects() {
		id, key := o.ID, shortOf(o.ID)
		other := t.owners[key]
		if other != nil && !older(l, other) {
			conflicts = append(conflicts, Conflict{ID: id, Owner: other.Key})
			loses(l, id)
			continue
		}
		if other != nil {
			loses(other, id)
		}
		t.owners[key] = l
	}
	for loser, ids := range lost {
		loser.forget(ids)
		if loser != l {
			displaced = append(displaced, loser.Key)
		}
	}
	return conflicts, displaced
}

// Drop closes and removes the lock of a HelmRelease and reports whether there was one.
func (t *Table) Drop(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drop(key)
}

func (t *Table) drop(key string) bool {
	l := t.locks[key]
	if l == nil {
		return false
	}
	l.Close()
	for _, o := range l.Objects() {
		if key := shortOf(o.ID); t.owners[key] == l {
			delete(t.owners, key)
		}
	}
	delete(t.locks, key)
	if t.byName[l.As] == l {
		delete(t.byName, l.As)
	}
	return true
}

// Get returns the lock of a HelmRelease, nil for none.
func (t *Table) Get(key string) *Lock {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.locks[key]
}

// Of returns the lock of the Helm release that objects claim to belong to, nil for none. Its record may be stored in
// another namespace.
func (t *Table) Of(key release.Key) *Lock {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[key]
}

// Holder returns the lock that owns an object, nil for none.
func (t *Table) Holder(id manifest.ID) *Lock {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.owners[shortOf(id)]
}

// Owner returns the lock that owns an object at exactly this version of its kind, nil for none. A release with the
// object at another version of the same kind watches that version.
func (t *Table) Owner(gvk schema.GroupVersionKind, id manifest.ID) *Lock {
	t.mu.RLock()
	l := t.owners[shortOf(id)]
	t.mu.RUnlock()
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.objects.of(id); s == nil || s.GVK != gvk {
		return nil
	}
	return l
}

// Locks returns all locks.
func (t *Table) Locks() []*Lock {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Values(t.locks))
}

func older(a, b *Lock) bool {
	if !a.Since.Equal(b.Since) {
		return a.Since.Before(b.Since)
	}
	return a.Key < b.Key
}

// Objects returns the objects that the lock owns.
func (l *Lock) Objects() []*Object {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*Object, len(l.objects))
	for i, s := range l.objects {
		all[i] = s.Object
	}
	return all
}

// forget takes objects out of the lock because another lock owns them.
func (l *Lock) forget(ids map[manifest.ID]struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.objects = slices.DeleteFunc(l.objects, func(s *state) bool {
		if _, taken := ids[s.ID]; !taken {
			return false
		}
		if l.taken == nil {
			l.taken = map[manifest.ID]struct{}{}
		}
		l.taken[s.ID] = struct{}{}
		delete(l.dirty, s)
		return true
	})
}
