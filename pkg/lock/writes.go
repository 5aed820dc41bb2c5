package lock

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Write is one write of the operator to an object of a release. Helm may have begun to work between the check
// before the write and the write itself, and may have read the object in between. So it stays in Writes until the
// record was read again.
type Write struct {
	// Key is the "namespace/name" of the HelmRelease.
	Key    string
	Object *Object
	// Record was the newest of the release at the check.
	Record release.Record
	// Created is set when the write creates the object, and Deleted when it deletes an object that an earlier write
	// created. Otherwise the object existed before: Undo is the JSON merge patch from the written content to the
	// content before, and Version is the resourceVersion before.
	Created bool
	Deleted bool
	Undo    []byte
	Version string
	Begun   time.Time

	// What follows is set by Answered.

	// Made is the object as it was created; nil for one that existed, and when the answer was lost.
	Made *unstructured.Unstructured
	// Lost is set when the answer did not come: the API server may carry the write out later, or not at all.
	Lost bool

	answered uint64 // when, in terms of Writes; zero until then
}

// Updated reports whether the write changes an object that exists.
func (w *Write) Updated() bool { return !w.Created && !w.Deleted }

// Bounds on what is kept of the writes of one release. With more, the record is read for no other reason than to
// forget them.
const (
	maxWrites    = 2000
	maxUndoBytes = 256 << 10
)

// Writes are the writes of which it is not proven yet that they landed before Helm began its next work. The zero
// value is empty. It is safe for concurrent use.
type Writes struct {
	mu       sync.Mutex
	releases map[release.Key]*releaseWrites
	now      uint64 // grows with every answer
}

type releaseWrites struct {
	of   map[manifest.ID]*Write
	undo int // bytes
}

// Begin adds a write that is about to be made. It takes the place of an earlier one to the same object, which was
// proven by the check before this one, or can no longer land.
func (s *Writes) Begin(w *Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.releases == nil {
		s.releases = map[release.Key]*releaseWrites{}
	}
	r := s.releases[w.Record.Key]
	if r == nil {
		r = &releaseWrites{of: map[manifest.ID]*Write{}}
		s.releases[w.Record.Key] = r
	}
	r.put(w)
}

// put has a write take the place of the one to the same object, if there is one.
func (r *releaseWrites) put(w *Write) {
	if old := r.of[w.Object.ID]; old != nil {
		r.undo -= len(old.Undo)
	}
	r.of[w.Object.ID] = w
	r.undo += len(w.Undo)
}

// Follow begins next in the place of an earlier write to the same object, of which it is known how it ended. It returns
// false, and begins nothing, if something else has that place: then another confirmation of the earlier write is at
// work.
func (s *Writes) Follow(earlier Write, next *Write) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.releases[earlier.Record.Key]
	if r == nil || r.of[earlier.Object.ID] == nil || r.of[earlier.Object.ID].answered != earlier.answered {
		return false
	}
	r.put(next)
	return true
}

// Answered records that the write is over: made is the object if it was created, and lost is set when no answer
// came. It reports whether so much is kept that the record should be read.
func (s *Writes) Answered(w *Write, made *unstructured.Unstructured, lost bool) (full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	w.answered, w.Lost = s.now, lost
	if w.Created {
		w.Made = made
	}
	r := s.releases[w.Record.Key]
	return r != nil && (len(r.of) > maxWrites || r.undo > maxUndoBytes)
}

// Check is called before the record of a release is read. When it turns out to be rec still, the returned function
// is called: it forgets the writes under rec that were answered before the call of Check.
func (s *Writes) Check() (passed func(rec release.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := s.now
	return func(rec release.Record) {
		s.mu.Lock()
		defer s.mu.Unlock()
		r := s.releases[rec.Key]
		if r == nil {
			return
		}
		for _, w := range r.of {
			if w.answered != 0 && w.answered <= until && !w.Lost && w.Record.Same(rec) {
				s.drop(r, w)
			}
		}
	}
}

// Of returns the writes of a release that are over.
func (s *Writes) Of(key release.Key) []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	var over []Write
	if r := s.releases[key]; r != nil {
		for _, w := range r.of {
			if w.answered != 0 {
				over = append(over, *w)
			}
		}
	}
	return over
}

// Any reports whether there are writes of a release under another record than rec.
func (s *Writes) Any(key release.Key, rec release.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.releases[key]; r != nil {
		for _, w := range r.of {
			if !w.Record.Same(rec) {
				return true
			}
		}
	}
	return false
}

// Releases returns the releases that have writes.
func (s *Writes) Releases() []release.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.releases))
}

// Drop forgets a write, unless there is a later one to the same object.
func (s *Writes) Drop(w Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.releases[w.Record.Key]; r != nil {
		if known := r.of[w.Object.ID]; known != nil && known.answered == w.answered {
			s.drop(r, known)
		}
	}
}

// drop is called with s.mu held.
func (s *Writes) drop(r *releaseWrites, w *Write) {
	delete(r.of, w.Object.ID)
	r.undo -= len(w.Undo)
	if len(r.of) == 0 {
		delete(s.releases, w.Record.Key)
	}
}
