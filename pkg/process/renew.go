package process

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// throttledLock is a lease whose holder skips some of the elector's renewals. A standby has to read the lease several
// times a second to take over in time, and in client-go a leader writes as often as a standby reads. A renewal is
// skipped soon after the previous one. If all later renewals fail, the leader still ends before its lease.
type throttledLock struct {
	resourcelock.Interface
	every time.Duration
	now   func() time.Time

	held   resourcelock.LeaderElectionRecord // as last written
	heldAt time.Time
}

// Update writes the record, unless only the time has changed and it was written a moment ago. The elector calls it
// from one goroutine.
func (l *throttledLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	now := l.now()
	same := record
	same.RenewTime = l.held.RenewTime
	if record.HolderIdentity == l.Identity() && same == l.held && now.Sub(l.heldAt) < l.every {
		return nil
	}
	if err := l.Interface.Update(ctx, record); err != nil {
		l.held = resourcelock.LeaderElectionRecord{}
		return err
	}
	l.held, l.heldAt = record, now
	return nil
}

// renewPeriod is the interval of a leader's writes to its lease. The renew deadline is two thirds of the lease, so a
// leader that cannot renew ends before its lease does.
func renewPeriod(lease time.Duration) time.Duration {
	return min(lease/8, 2*time.Second)
}
