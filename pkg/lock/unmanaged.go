package lock

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Unmanaged are the objects that claim to belong to a release and are not in its manifest. Lists of all objects of a
// kind show them. It is safe for concurrent use; the zero value is empty.
type Unmanaged struct {
	mu    sync.Mutex
	ids   map[manifest.ID]struct{}
	lists map[schema.GroupVersionKind]bool // awaited ones; true once they are over
}

func (u *Unmanaged) set(id manifest.ID, exists bool) (changed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := len(u.ids)
	if !exists {
		delete(u.ids, id)
		return len(u.ids) != before
	}
	if u.ids == nil {
		u.ids = map[manifest.ID]struct{}{}
	}
	u.ids[id] = struct{}{}
	return len(u.ids) != before
}

// Has reports whether an object was recorded by SetUnmanaged.
func (u *Unmanaged) Has(id manifest.ID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, known := u.ids[id]
	return known
}

func (u *Unmanaged) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.ids)
}

// AwaitList announces a list of every object of a kind before it begins.
func (u *Unmanaged) AwaitList(gvk schema.GroupVersionKind) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lists == nil {
		u.lists = map[schema.GroupVersionKind]bool{}
	}
	u.lists[gvk] = false
}

// MissedList takes an AwaitList back: the list had begun already.
func (u *Unmanaged) MissedList(gvk schema.GroupVersionKind) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.lists, gvk)
}

// ListEnded records the end of the list announced by AwaitList: all unmanaged objects of the kind are known.
func (u *Unmanaged) ListEnded(gvk schema.GroupVersionKind) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, awaited := u.lists[gvk]; awaited {
		u.lists[gvk] = true
	}
}

// AwaitsList reports whether a list announced by AwaitList is still pending or under way.
func (u *Unmanaged) AwaitsList() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, over := range u.lists {
		if !over {
			return true
		}
	}
	return false
}

// Knows reports whether every object of the kind was shown since the lock began.
func (u *Unmanaged) Knows(gvk schema.GroupVersionKind) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lists[gvk]
}
