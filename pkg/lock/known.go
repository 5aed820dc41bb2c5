package lock

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Known records an observation by resource version and digest alone. It returns true if the observation is stale, or if
// its content was judged already. Otherwise it records nothing, and the caller passes the object to Observe.
func (l *Lock) Known(id manifest.ID, version, digest uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.objects.of(id)
	if s == nil || l.closed || s.isStale(version) {
		return true
	}
	if !s.isJudged(digest) {
		return false
	}
	s.version = max(s.version, version)
	l.endDrift(s)
	return true
}

// Rewind resets the observed versions of the objects of a kind, because resource versions begin again.
func (l *Lock) Rewind(gvk schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.objects {
		if s.GVK == gvk {
			s.version, s.rewound = 0, s.inFlight
		}
	}
}

// endDrift ends a drift before a worker takes it. l.mu is held.
func (l *Lock) endDrift(s *state) {
	if s.refused(s.good) {
		return // the next attempt to restore the rest is due whatever is seen of the object
	}
	s.pending = nil
	if !s.reported {
		s.problem = nil
		s.succeed()
	}
	delete(l.dirty, s)
}

// Peek returns the Work of an object without taking it; false for an object that the lock does not own, or no longer
// owns.
func (l *Lock) Peek(id manifest.ID) (Work, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.objects.of(id)
	if s == nil || l.closed {
		return Work{}, false
	}
	return Work{Object: s.Object, First: !s.judged, Baseline: s.baseline, Owner: s.helm(), Chosen: s.chosen()}, true
}

// maxVotes bounds the objects whose owners decide Manager.
const maxVotes = 16

// HelmManager returns Helm's field manager of the release: Manager, or else Writer; empty when unknown.
func (l *Lock) HelmManager() string { return cmp.Or(l.Manager(), l.Writer) }

// Manager returns the field manager that owns most of the release's judged objects; empty when there is none yet.
func (l *Lock) Manager() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	owned, votes := map[string]int{}, 0
	for _, s := range l.objects {
		if owner := s.helm(); owner.Known {
			owned[owner.Manager]++
			votes++
		}
		if votes == maxVotes {
			break
		}
	}
	most := ""
	for manager, n := range owned {
		if n > owned[most] || n == owned[most] && manager < most {
			most = manager
		}
	}
	return most
}

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
	return !(exists && l.Declares(id)) && l.Unmanaged.set(id, exists)
}

// RecordRequest remembers a request about an object for some minutes.
func (l *Lock) RecordRequest(id manifest.ID, r Request) {
	l.mu.Lock()
	if s := l.objects.of(id); s != nil {
		s.existed = s.existed || r.Deletion
	}
	l.mu.Unlock()
	l.Requests.record(id, r)
}
