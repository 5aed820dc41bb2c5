package lock

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Declares reports whether the locked manifest declares an object, whether or not this lock owns it.
func (l *Lock) Declares(id manifest.ID) bool {
	if _, untracked := l.Untracked[id]; untracked {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, taken := l.taken[id]
	return taken || l.objects.of(id) != nil
}

// SetUnmanaged records whether an object that claims to belong to the release exists. It ignores declared objects. It
// reports whether the number of unmanaged objects changes.
func (l *Lock) SetUnmanaged(id manifest.ID, exists bool) (changed bool) {
	if exists && l.Declares(id) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.unmanaged[id]; known == exists {
		return false
	}
	if !exists {
		delete(l.unmanaged, id)
		return true
	}
	if l.unmanaged == nil {
		l.unmanaged = map[manifest.ID]struct{}{}
	}
	l.unmanaged[id] = struct{}{}
	return true
}

// IsUnmanaged reports whether an object was recorded by SetUnmanaged.
func (l *Lock) IsUnmanaged(id manifest.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.unmanaged[id]
	return known
}

// Places returns one object of the lock for each kind and namespace of its objects.
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

// Scalable returns the kinds of the objects of the lock with a declared number of replicas.
func (l *Lock) Scalable() map[schema.GroupVersionKind]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	kinds := map[schema.GroupVersionKind]bool{}
	for _, s := range l.objects {
		if s.Scalable {
			kinds[s.GVK] = true
		}
	}
	return kinds
}

// Namespaces returns the names of the Namespaces among the objects of the lock.
func (l *Lock) Namespaces() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, s := range l.objects {
		if s.GVK.Group == "" && s.GVK.Kind == "Namespace" {
			names = append(names, s.ID.Name)
		}
	}
	return names
}

// list is a list of all objects of a kind, awaited or over.
type list struct {
	gvk  schema.GroupVersionKind
	over bool
}

// list returns the list of a kind announced by AwaitList, nil for none. l.mu is held.
func (l *Lock) list(gvk schema.GroupVersionKind) *list {
	i := slices.IndexFunc(l.lists, func(known list) bool { return known.gvk == gvk })
	if i < 0 {
		return nil
	}
	return &l.lists[i]
}

// AwaitList announces a list of every object of a kind before it begins.
func (l *Lock) AwaitList(gvk schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.list(gvk); known != nil {
		known.over = false
		return
	}
	l.lists = append(l.lists, list{gvk: gvk})
}

// MissedList takes an AwaitList back: the list had begun already.
func (l *Lock) MissedList(gvk schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lists = slices.DeleteFunc(l.lists, func(known list) bool { return known.gvk == gvk })
}

// ListEnded records the end of the list announced by AwaitList: all unmanaged objects of the kind are known.
func (l *Lock) ListEnded(gvk schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if awaited := l.list(gvk); awaited != nil {
		awaited.over = true
	}
}

// AwaitsList reports whether a list announced by AwaitList is still pending or under way.
func (l *Lock) AwaitsList() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lists, func(known list) bool { return !known.over })
}

// KnowsUnmanaged reports whether every object of the kind was shown since the lock began.
func (l *Lock) KnowsUnmanaged(gvk schema.GroupVersionKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.list(gvk)
	return known != nil && known.over
}
