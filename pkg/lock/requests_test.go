package lock

import (
	"fmt"
	"testing"
	"time"
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
	if got := users("a"); got != "alice carol " {
		t.Errorf("requests of %s", got)
	}
	if got := users("a"); got != "" {
		t.Errorf("after they were taken: %s", got)
	}
	for i := range maxRequests {
		l.RecordRequest(id("a"), Request{User: fmt.Sprint(i), At: now})
	}
	if got := users("b"); got != "" {
		t.Errorf("after a flood: %s", got)
	}
	l.RecordRequest(id("b"), Request{User: "late", At: now.Add(requestAge + time.Second)})
	if got := users("a"); got != "" {
		t.Errorf("after minutes: %s", got)
	}
}
