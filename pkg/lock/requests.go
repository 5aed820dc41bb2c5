package lock

import (
	"slices"
	"time"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Limits of the remembered requests about the objects of a lock. A flood of requests costs the release the names of
// its own senders only.
const (
	maxRequests = 128
	requestAge  = 5 * time.Minute
)

// Request is a request that drifts from the manifest, and that the guard let pass.
type Request struct {
	// User is the sender with these Groups, and At the time of the question to the guard.
	User   string
	Groups []string
	At     time.Time
	// Deletion is set for the deletion of the object. Paths are the changed ones of any other request; nil for any.
	Deletion bool
	Paths    []string
}

type objectRequest struct {
	id manifest.ID
	Request
}

// RecordRequest remembers a request about an object for some minutes.
func (l *Lock) RecordRequest(id manifest.ID, r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.objects.of(id); s != nil {
		s.existed = s.existed || r.Deletion
	}
	l.requests = slices.DeleteFunc(l.requests, func(o objectRequest) bool { return r.At.Sub(o.At) > requestAge })
	l.requests = append(l.requests, objectRequest{id, r})
	l.requests = slices.Delete(l.requests, 0, max(len(l.requests)-maxRequests, 0))
}

// TakeRequests returns the requests about an object, and forgets them: what they have made is reverted, or reported.
func (l *Lock) TakeRequests(id manifest.ID) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken []Request
	l.requests = slices.DeleteFunc(l.requests, func(o objectRequest) bool {
		if o.id != id {
			return false
		}
		taken = append(taken, o.Request)
		return true
	})
	return taken
}
