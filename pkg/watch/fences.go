package watch

import (
	"crypto/rand"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/release"
)

// fences show the progress of a watch. A fence is a write of a new token to a Secret that the watch delivers, too. The
// watch of one resource delivers in the order of the writes, so the token proves that all earlier writes were
// delivered. Resource versions cannot prove that: those of different kinds are not comparable, and the watch is silent
// between events.
type fences struct {
	secret types.NamespacedName

	mu      sync.Mutex
	token   string        // random, so that it cannot be written too early
	waiting chan struct{} // closed when token is seen; nil when it was
	// A list is in flight, and token was in its part delivered so far. An attempt to list may end half-way, and the
	// next one may be older, if another API server answers it: each attempt starts empty.
	listing, listed bool
}

// next returns a new token, and a channel that is closed when the watch has delivered it. It ends the wait for the
// previous token.
func (f *fences) next() (token string, seen <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token, f.waiting, f.listed = rand.Text(), make(chan struct{}), false
	return f.token, f.waiting
}

// delivered records a Secret as the watch delivered it.
func (f *fences) delivered(secret *metav1.PartialObjectMetadata) {
	if f.secret != (types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}) {
		return // of another operator
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case secret.Annotations[release.FenceAnnotation] != f.token:
	case f.listing:
		f.listed = true
	default:
		f.seen()
	}
}

// listBegins records that the next objects are part of a list.
func (f *fences) listBegins() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listing, f.listed = true, false
}

// listEnded records that a list is complete. Until then its further objects, and the missing ones, are unknown.
func (f *fences) listEnded() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed {
		f.seen()
	}
	f.listing, f.listed = false, false
}

// seen is called with f.mu held.
func (f *fences) seen() {
	if f.waiting != nil {
		close(f.waiting)
		f.waiting = nil
	}
}

// isFence reports whether a Secret of the watch of records is the fence of an operator, and so no record.
func isFence(secret *metav1.PartialObjectMetadata) bool {
	return secret.Labels[release.OwnerLabel] == release.OwnerFence
}
