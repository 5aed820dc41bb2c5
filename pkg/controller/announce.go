package controller

import (
	"sync"
	"time"
)

// announcePatience is how long the event of a lock is held back at most when its own status is written and others
// wait to be.
const announcePatience = 5 * time.Second

// announcements hold the events back that tell of new locks. When many releases are locked at once, the API server
// would spend about as much time on the events as on the statuses, and no user waits for an event. The zero value is
// ready, and it is safe for concurrent use.
type announcements struct {
	mu   sync.Mutex
	held map[string]func() // by HelmRelease key, whose status has not been written yet
	// due are those that only wait for the statuses of others, and since is when the first of them began to.
	due   []func()
	since time.Time
}

// hold keeps what tells of the lock of a HelmRelease, in place of what was held of it.
func (a *announcements) hold(key string, tell func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		a.held = map[string]func(){}
	}
	a.held[key] = tell
}

// say tells what is held of a HelmRelease now, before something else is told of it.
func (a *announcements) say(key string) {
	a.mu.Lock()
	tell := a.held[key]
	delete(a.held, key)
	a.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// written takes note that the status of a HelmRelease was dealt with, and tells of all such locks once no other
// status waits or they have waited for those long enough.
func (a *announcements) written(key string, now time.Time, others int) {
	a.mu.Lock()
	if tell := a.held[key]; tell != nil {
		delete(a.held, key)
		if len(a.due) == 0 {
			a.since = now
		}
		a.due = append(a.due, tell)
	}
	var due []func()
	if others == 0 || now.Sub(a.since) >= announcePatience {
		due, a.due = a.due, nil
	}
	a.mu.Unlock()
	for _, tell := range due {
		tell()
	}
}
