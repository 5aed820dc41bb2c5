package lock

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Declares says whether the locked manifest declares an object, whether or not this lock owns it.
func (l *Lock) Declares(id manifest.ID) bool {
	if _, untracked := l.Untracked[id]; untracked {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, taken := l.taken[id]
	return taken || l.objects.of(id) != nil
}

// Stray takes note of an object that says it belongs to the release and exists, or does not exist any more. Objects that
// the manifest declares are none. It says whether that changes the number of strays.
func (l *Lock) Stray(id manifest.ID, exists bool) (changed bool) {
	if exists && l.Declares(id) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.strays[id]; known == exists {
		return false
	}
	if !exists {
		delete(l.strays, id)
		return true
	}
	if l.strays == nil {
		l.strays = map[manifest.ID]struct{}{}
	}
	l.strays[id] = struct{}{}
	return true
}

// IsStray says whether an object was noted as one that says it belongs to the release.
func (l *Lock) IsStray(id manifest.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.strays[id]
	return known
}

// Places returns one object of the lock for each kind and namespace that it has objects in.
func (l *Lock) Places() []*Object {
	type place struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	places := map[place]*Object{}
	for _, s := range l.objects {
		places[place{s.GVK, s.ID.Namespace}] = s.Object
	}
	return slices.Collect(maps.Values(places))
}

// AwaitList takes note that a list of a kind has not begun yet that will show every object of it.
func (l *Lock) AwaitList(gvk schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lists == nil {
		l.lists = map[schema.GroupVersionKind]bool{}
	}
	l.lists[gvk] = false
}

// MissedList takes an AwaitList back: the list had begun already.
func (l *Lock) MissedList(gvk schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lists, gvk)
}

// ListEnded takes note that the list that AwaitList spoke of has shown every object: all strays of the kind are known.
func (l *Lock) ListEnded(gvk schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, awaited := l.lists[gvk]; awaited {
		l.lists[gvk] = true
	}
}

// AwaitsList says whether a list is still to come, or under way, that AwaitList spoke of.
func (l *Lock) AwaitsList() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, over := range l.lists {
		if !over {
			return true
		}
	}
	return false
}

// KnowsStrays says whether every object of the kind was shown since the lock began.
func (l *Lock) KnowsStrays(gvk schema.GroupVersionKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lists[gvk]
}
