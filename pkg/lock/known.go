package lock

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Known takes a look at an object that exists by its resource version and digest alone, and reports whether that
// was all there is to it: the look is older than one already taken, or shows content that was judged already. If it
// was not, nothing has changed, and Observe takes the look with the object in it.
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

// Rewind forgets which versions of the objects of a kind were observed, because resource versions begin again.
func (l *Lock) Rewind(gvk schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.objects {
		if s.GVK == gvk {
			s.version, s.rewound = 0, s.inFlight
		}
	}
}

// isStale reports whether a look with that version is older than one already taken. Zero is unknown, and never old.
func (s *state) isStale(version uint64) bool { return version != 0 && version <= s.version }

// unjudged reports whether it is not known of the object how it is, nor what keeps that from being known.
func (s *state) unjudged() bool { return !s.judged && s.problem == nil }

// isJudged reports whether content with that digest was judged, and no worker is about to change it.
func (s *state) isJudged(digest uint64) bool { return s.judged && digest == s.good && !s.inFlight }

// endDrift ends a drift that was not worked on yet. l.mu is held.
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

// Owns reports whether the lock protects an object.
func (l *Lock) Owns(id manifest.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && l.objects.of(id) != nil
}

// Peek returns what is known of an object, as Take hands it out, without handing it out; false for an object that the
// lock does not own, or does not own any more.
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
		if owner := s.helm(); owner.Known && votes < maxVotes {
			owned[owner.Manager]++
			votes++
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

// Siblings returns at most limit objects of the lock other than id.
func (l *Lock) Siblings(id manifest.ID, limit int) []*Object {
	l.mu.Lock()
	defer l.mu.Unlock()
	var siblings []*Object
	for _, s := range l.objects {
		if s.ID != id && len(siblings) < limit {
			siblings = append(siblings, s.Object)
		}
	}
	return siblings
}
