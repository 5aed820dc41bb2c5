package fair

import (
	"maps"
	"sync"
	"time"
)

// Rate bounds how much each tenant may use: a burst at once, and then an amount each second. It is safe for concurrent
// use.
type Rate struct {
	perSecond, burst, debt float64

	mu   sync.Mutex
	used map[string]usage // of the tenants with less than a burst left
	tidy int              // the number of tenants at which those with all of it are forgotten
}

// usage is the used part of a tenant's burst at a time.
type usage struct {
	used float64
	at   time.Time
}

// NewRate returns a rate with an unused burst for each tenant. debt bounds what a tenant uses beyond the burst, and so
// its wait.
func NewRate(perSecond, burst, debt float64) *Rate {
	return &Rate{perSecond: perSecond, burst: burst, debt: debt, used: map[string]usage{}}
}

// Allow reports whether a tenant may use one now, and counts it if so.
func (r *Rate) Allow(name string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left(name, now)+1 > r.burst {
		return false
	}
	r.use(name, now, 1)
	return true
}

// Use counts an amount that a tenant has used, allowed or not.
func (r *Rate) Use(name string, now time.Time, amount float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use(name, now, amount)
}

func (r *Rate) use(name string, now time.Time, amount float64) {
	r.used[name] = usage{min(r.left(name, now)+amount, r.burst+r.debt), now}
	if len(r.used) > r.tidy {
		maps.DeleteFunc(r.used, func(name string, _ usage) bool { return r.left(name, now) == 0 })
		r.tidy = 2*len(r.used) + 100
	}
}

// Wait returns the time until a tenant has a part of its burst again; zero for now.
func (r *Rate) Wait(name string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.left(name, now)
	if left < r.burst {
		return 0
	}
	return time.Duration((left-r.burst)/r.perSecond*float64(time.Second)) + time.Millisecond
}

// left returns how much is still used at a time. No time has passed when the clock was set back, and from then on it
// passes by the new one. r.mu is held.
func (r *Rate) left(name string, now time.Time) float64 {
	u := r.used[name]
	if now.Before(u.at) {
		u.at = now
		r.used[name] = u
	}
	return max(0, u.used-r.perSecond*now.Sub(u.at).Seconds())
}
