package lock

import (
	"fmt"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A flood of requests forgets the oldest ones of the lock, and minutes forget all.
func TestRequestsAreRememberedForMinutes(t *testing.T) {
	l, now := judged(t), time.Now()
	users := func(name string) (all string) {
		for _, r := range l.Requests.Take(id(name)) {
			all += r.User + " "
		}
		return all
	}
	l.RecordRequest(id("a"), Request{User: "alice", At: now})
	l.RecordRequest(id("b"), Request{User: "bob", At: now})
	l.RecordRequest(id("a"), Request{User: "carol", At: now.Add(time.Second)})
	check.Equal(t, users("a"), "alice carol ", "requests of")
	check.Equal(t, users("a"), "", "after they were taken")
	for i := range maxRequests {
		l.RecordRequest(id("a"), Request{User: fmt.Sprint(i), At: now})
	}
	check.Equal(t, users("b"), "", "after a flood")
	l.RecordRequest(id("b"), Request{User: "late", At: now.Add(requestAge + time.Second)})
	check.Equal(t, users("a"), "", "after minutes")
}
