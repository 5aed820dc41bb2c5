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

// Write is one write of the operator to an object of a release. Helm may have begun to work between the check before
// the write and the write itself, and may have read the object in between. So the record is read once more after the
// write, and Writes has the write until then.
type Write struct {
	// Key is the "namespace/name" of the HelmRelease.
	Key    string
	Object *Object
	// Record was the newest of the release at the check.
	Record release.Record
	// Created is set when the write creates the object, and Deleted when it deletes it. Otherwise Undo is the JSON
	// merge patch from the written content to the content before.
	Created bool
	Deleted bool
	Undo    []byte
	// Version is the resourceVersion of the object before the write. It is empty if the object did not exist, or was of
	// the operator's own making.
	Version string
	// Manager is the field manager of a creation.
	Manager string
	Begun   time.Time

	// Answered sets the fields below.

	// Made is the created object; nil for one that existed, and when the answer was lost.
	Made *unstructured.Unstructured
	// Lost is set when there was no answer: the API server may carry the write out later, or not at all.
	Lost bool
	// RefusedAt is the time at which a deletion of the object was last refused, zero without one, and RefusedUnder the
	// newest record then.
	RefusedAt    time.Time
	RefusedUnder release.Record

	answered uint64 // when, in terms of Writes; zero until then
	before   *Write // the earlier write whose place this one has, if its answer was lost
}

// Writes are the writes to confirm by another read of the record, and the writes that wait for the end of Helm's work.
// The zero value is empty. It is safe for concurrent use.
type Writes struct {
	mu       sync.Mutex
	releases map[release.Key]map[manifest.ID]*Write
	now      uint64 // grows with every answer
}

// Begin adds a write before it is made. It replaces an earlier one to the same object: the check before this write has
// proven the earlier one, or this write prevents it.
func (s *Writes) Begin(w *Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier := s.releases[w.Record.Key][w.Object.ID]; earlier != nil && earlier.Lost {
		w.before = earlier
	}
	s.put(w)
}

// Failed forgets a write that was not carried out. It restores an earlier one without an answer: the API server may
// still carry it out.
func (s *Writes) Failed(w *Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.has(*w) {
		return
	}
	s.remove(*w)
	if w.before != nil {
		s.put(w.before)
	}
}

// put is called with s.mu held.
func (s *Writes) put(w *Write) {
	if s.releases == nil {
		s.releases = map[release.Key]map[manifest.ID]*Write{}
	}
	if s.releases[w.Record.Key] == nil {
		s.releases[w.Record.Key] = map[manifest.ID]*Write{}
	}
	s.releases[w.Record.Key][w.Object.ID] = w
}

// Follow begins next in place of an earlier write to the same object with a known result. If a later write has the
// place, it begins nothing and returns false: the later write was made under a check of its own.
func (s *Writes) Follow(earlier Write, next *Write) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.has(earlier) {
		return false
	}
	s.releases[earlier.Record.Key][earlier.Object.ID] = next
	return true
}

// Again adds a write back for another check, unless the object has another write now.
func (s *Writes) Again(w Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.releases[w.Record.Key][w.Object.ID] == nil {
		s.put(&w)
	}
}

// Answered records the end of the write: made is the created object, if any, and lost is set when there was no answer.
func (s *Writes) Answered(w *Write, made *unstructured.Unstructured, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	w.answered, w.Lost = s.now, lost
	if w.Created {
		w.Made = made
	}
}

// Of returns the completed writes of a release.
func (s *Writes) Of(key release.Key) []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	var over []Write
	for _, w := range s.releases[key] {
		if w.answered != 0 {
			over = append(over, *w)
		}
	}
	return over
}

// Any reports whether a write of a release has another record than the one that newest returns for it.
func (s *Writes) Any(key release.Key, newest func(release.Record) release.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.releases[key] {
		if !w.Record.Same(newest(w.Record)) {
			return true
		}
	}
	return false
}

// Releases returns the releases with writes.
func (s *Writes) Releases() []release.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.releases))
}

// Drop forgets a write, unless there is a later one to the same object.
func (s *Writes) Drop(w Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has(w) {
		s.remove(w)
	}
}

// remove is called with s.mu held.
func (s *Writes) remove(w Write) {
	delete(s.releases[w.Record.Key], w.Object.ID)
	if len(s.releases[w.Record.Key]) == 0 {
		delete(s.releases, w.Record.Key)
	}
}

// has reports whether a write is the last one to its object. s.mu is held.
func (s *Writes) has(w Write) bool {
	last := s.releases[w.Record.Key][w.Object.ID]
	return last != nil && last.answered == w.answered
}
