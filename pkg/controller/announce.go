package controller

import (
	"sync"
	"time"
)

// announcePatience is how long the event of a lock is held back at most, as long as statuses wait to be written.
const announcePatience = 5 * time.Second

// announcements hold the events back that tell of new locks. When many releases are locked at once, the API server would spend
// about as much time on the events as on the statuses, and nobody waits for an event. The zero value is ready, and it is safe for
// concurrent use.
type announcements struct {
	mu   sync.Mutex
	held map[string]announcement // by HelmRelease key; its status has not been written yet
	due  []func()                // others' statuses have not
	// since is when the first of due was held back.
	since time.Time
}

type announcement struct {
	tell func()
	at   time.Time
}

// hold keeps what tells of the lock of a HelmRelease, in place of what was held of it.
func (a *announcements) hold(key string, now time.Time, tell func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		a.held = map[string]announcement{}
	}
	a.held[key] = announcement{tell, now}
}

// say tells what is held of a HelmRelease now, before something else is told of it.
func (a *announcements) say(key string) {
	a.mu.Lock()
	told, found := a.held[key]
	delete(a.held, key)
	a.mu.Unlock()
	if found {
		told.tell()
	}
}

// written takes note that the status of a HelmRelease was dealt with, and tells of all such locks once no other status waits
// or they have been held for long enough.
func (a *announcements) written(key string, now time.Time, others int) {
	a.mu.Lock()
	if told, found := a.held[key]; found {
		delete(a.held, key)
		if len(a.due) == 0 || told.at.Before(a.since) {
			a.since = told.at
		}
		a.due = append(a.due, told.tell)
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
