package lock

import (
	"slices"
	"sync"
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

// Requests are the requests about the objects of a lock in the last minutes. It is safe for concurrent use; the zero
// value is empty.
type Requests struct {
	mu  sync.Mutex
	all []objectRequest // the oldest first
}

type objectRequest struct {
	id manifest.ID
	Request
}

func (rs *Requests) record(id manifest.ID, r Request) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.all = slices.DeleteFunc(rs.all, func(o objectRequest) bool { return r.At.Sub(o.At) > requestAge })
	rs.all = append(rs.all, objectRequest{id, r})
	rs.all = slices.Delete(rs.all, 0, max(len(rs.all)-maxRequests, 0))
}

// Take returns the requests about an object, and forgets them: what they have made is reverted, or reported.
func (rs *Requests) Take(id manifest.ID) []Request {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var taken []Request
	rs.all = slices.DeleteFunc(rs.all, func(o objectRequest) bool {
		if o.id != id {
			return false
		}
		taken = append(taken, o.Request)
		return true
	})
	return taken
}
