package watch

import (
	"crypto/rand"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/release"
)

// marks tell how far a watch has come. A mark is written to a Secret that the watch delivers, too: the watch of one
// resource delivers in the order in which things were written, so whoever sees the mark has seen all that was
// written before it. Two resource versions cannot tell that, for those of different kinds are not to be compared,
// and the watch is silent between events.
type marks struct {
	secret types.NamespacedName

	mu      sync.Mutex
	last    string        // nobody can know it before it is written, and so write it too early
	waiting chan struct{} // closed when last is seen; nil when nobody waits any more
	// A list is under way, and last was in what it has delivered so far. An attempt to list may end half-way, and
	// what the next one holds may be older, if another API server answers it: each begins with nothing.
	listing, listed bool
}

// next returns a new mark, and a channel that is closed when the watch has delivered it. Nobody can wait for the
// mark before any more.
func (m *marks) next() (mark string, seen <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last, m.waiting, m.listed = rand.Text(), make(chan struct{}), false
	return m.last, m.waiting
}

// delivered takes note of a Secret as the watch delivered it.
func (m *marks) delivered(secret *metav1.PartialObjectMetadata) {
	if m.secret != (types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}) {
		return // of another operator
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case secret.Annotations[release.MarkAnnotation] != m.last:
	case m.listing:
		m.listed = true
	default:
		m.seen()
	}
}

// listBegins takes note that what comes is part of a list.
func (m *marks) listBegins() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listing, m.listed = true, false
}

// listEnded takes note that all of a list is known. Until then it is not known what else the list holds, and what
// it lacks.
func (m *marks) listEnded() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listed {
		m.seen()
	}
	m.listing, m.listed = false, false
}

// seen is called with m.mu held.
func (m *marks) seen() {
	if m.waiting != nil {
		close(m.waiting)
		m.waiting = nil
	}
}

// isMark reports whether a Secret of the watch of records is one of those that hold marks, of any operator, and no
// record.
func isMark(secret *metav1.PartialObjectMetadata) bool {
	return secret.Labels[release.OwnerLabel] == release.OwnerMark
}
