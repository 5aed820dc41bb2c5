package process

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// seldomRenewed is a lease that its holder renews less often than the elector asks for: a standby has to read it
// several times a second to take over in time, and with client-go a leader writes as often as a standby reads. It
// leaves out renewals so soon after the previous one that, if they are the last ones, the leader still ends before
// the lease does.
type seldomRenewed struct {
	resourcelock.Interface
	every time.Duration
	now   func() time.Time

	held   resourcelock.LeaderElectionRecord // as last written
	heldAt time.Time
}

// Update writes the record, unless only the time has changed and it was written a moment ago. The elector calls it
// from one goroutine.
func (l *seldomRenewed) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
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

// renewSeldom returns a lock that is renewed as seldom as its lease allows.
func renewSeldom(lease time.Duration, lock resourcelock.Interface) resourcelock.Interface {
	return &seldomRenewed{Interface: lock, every: renewPeriod(lease), now: time.Now}
}

// renewPeriod is the interval of a leader's writes to its lease. With the renew deadline of two thirds of the lease,
// it is so short that a leader that cannot renew ends before its lease does.
func renewPeriod(lease time.Duration) time.Duration {
	return min(lease/8, 2*time.Second)
}
