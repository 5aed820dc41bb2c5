package fair

import (
	"maps"
	"sync"
	"time"
)

// Rate bounds how often each tenant may do something: a burst at once, and then a number each second. It is safe for
// concurrent use.
type Rate struct {
	perSecond, burst float64

	mu   sync.Mutex
	used map[string]usage // of the tenants with less than a burst left
	tidy int              // the number of tenants at which those with all of it are forgotten
}

// usage is the used part of a tenant's burst at a time.
type usage struct {
	used float64
	at   time.Time
}

// NewRate returns a rate with an unused burst for each tenant.
func NewRate(perSecond, burst float64) *Rate {
	return &Rate{perSecond: perSecond, burst: burst, used: map[string]usage{}}
}

// Allow reports whether a tenant may do it now, and counts it if so.
func (r *Rate) Allow(name string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.left(r.used[name], now)
	if left+1 > r.burst {
		return false
	}
	r.used[name] = usage{left + 1, now}
	if len(r.used) > r.tidy {
		maps.DeleteFunc(r.used, func(_ string, u usage) bool { return r.left(u, now) == 0 })
		r.tidy = 2*len(r.used) + 100
	}
	return true
}

// left returns how much is still used at a time. No time has passed when the clock was set back.
func (r *Rate) left(u usage, now time.Time) float64 {
	return max(0, u.used-r.perSecond*max(0, now.Sub(u.at).Seconds()))
}
