package reporting

import (
	"sync"
	"time"
)

// announcePatience is the maximum delay of the event of a lock, from the write of its own status, while other statuses
// wait.
const announcePatience = 5 * time.Second

// announcements delay the events about new locks. When many releases are locked at once, the API server would spend
// about as much time on the events as on the statuses, and no user waits for an event. The zero value is ready, and it
// is safe for concurrent use.
type announcements struct {
	mu   sync.Mutex
	held map[string]func() // by HelmRelease key, whose status has not been written yet
	// due are the announcements that only wait for other statuses. since is the start of this wait.
	due   []func()
	since time.Time
}

// hold delays the announcement of the lock of a HelmRelease, in place of an earlier one.
func (a *announcements) hold(key string, send func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		a.held = map[string]func(){}
	}
	a.held[key] = send
}

// flush sends the delayed announcement of a HelmRelease now, before any other event about it.
func (a *announcements) flush(key string) {
	a.mu.Lock()
	send := a.held[key]
	delete(a.held, key)
	a.mu.Unlock()
	if send != nil {
		send()
	}
}

// written records the end of a status update of a HelmRelease. It sends the announcements of all such locks once no
// other status waits, or after a maximum delay.
func (a *announcements) written(key string, now time.Time, others int) {
	a.mu.Lock()
	if send := a.held[key]; send != nil {
		delete(a.held, key)
		if len(a.due) == 0 {
			a.since = now
		}
		a.due = append(a.due, send)
	}
	var due []func()
	if others == 0 || now.Sub(a.since) >= announcePatience {
		due, a.due = a.due, nil
	}
	a.mu.Unlock()
	for _, send := range due {
		send()
	}
}
