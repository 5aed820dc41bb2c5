package process

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// lease counts what is written to it.
type lease struct {
	resourcelock.Interface
	written []resourcelock.LeaderElectionRecord
	err     error
}

func (l *lease) Identity() string { return "me" }

func (l *lease) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.err == nil {
		l.written = append(l.written, r)
	}
	return l.err
}

func TestLeaseIsRenewedSeldomAndGivenUpAtOnce(t *testing.T) {
	store, now := &lease{}, time.Unix(1000, 0)
	l := &throttledLock{Interface: store, every: 2 * time.Second, now: func() time.Time { return now }}
	update := func(holder string, writes int, what string) {
		t.Helper()
		record := resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15,
			RenewTime: metav1.NewTime(now)}
		err := l.Update(t.Context(), record)
		check.That(t, errors.Is(err, store.err), "%s: %v", what, err)
		check.That(t, len(store.written) == writes, "%s: %d writes, want %d", what, len(store.written), writes)
		now = now.Add(400 * time.Millisecond)
	}
	update("me", 1, "taken")
	for range 4 {
		update("me", 1, "renewed a moment ago")
	}
	update("me", 2, "renewed two seconds ago")
	store.err = errors.New("no answer")
	now = now.Add(2 * time.Second)
	update("me", 2, "not written")
	store.err = nil
	update("me", 3, "written again as soon as there is an answer")
	update("", 4, "given up")
	update("me", 5, "taken again")
}

// A leader that cannot renew its lease ends before a standby may take it.
func TestALeaderEndsBeforeItsLease(t *testing.T) {
	for _, duration := range []time.Duration{time.Second, 2 * time.Second, 15 * time.Second, time.Hour} {
		deadline := renewDeadline(duration)
		last := renewPeriod(duration) + retryPeriod(duration) + deadline
		check.That(t, last < duration, "a lease of %s may be held until %s after its last renewal", duration, last)
		stretched := time.Duration(float64(retryPeriod(duration)) * (1 + leaderelection.JitterFactor))
		check.That(t,
			2*stretched < time.Second &&
				deadline > time.Duration(leaderelection.JitterFactor*float64(retryPeriod(duration))),
			"with a lease of %s a standby looks every %s, and a leader tries for %s", duration, stretched, deadline)
	}
}
