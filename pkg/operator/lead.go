package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// errLeaseLost ends the operator: another one leads now. Its writes carry preconditions, so a moment with two leaders
// does no harm, but one that cannot renew its lease has no business writing.
var errLeaseLost = errors.New("lost the leader lease")

// lead lets the controller write while this operator leads, and gives the lease up when ctx ends.
func (p *program) lead(ctx context.Context) error {
	o := p.options
	if !o.LeaderElection {
		p.setLeading(true)
		p.retireGuard(ctx)
		<-ctx.Done()
		p.setLeading(false)
		return nil
	}
	var lost atomic.Bool
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: renewSeldom(o, &toldLock{log: o.Log, Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.lease},
			Client:     p.conn.leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity(o)},
		}}),
		Name: o.lease, ReleaseOnCancel: true,
		LeaseDuration: o.LeaseDuration, RenewDeadline: renewDeadline(o.LeaseDuration),
		RetryPeriod: retryPeriod(o.LeaseDuration),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				o.Log.Info("leading")
				p.setLeading(true)
				p.retireGuard(ctx)
			},
			OnStoppedLeading: func() {
				p.setLeading(false)
				lost.Store(ctx.Err() == nil)
			},
			OnNewLeader: func(id string) {
				o.Log.Infof("leader is %s", id)
				p.page.Leader(id)
			},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	// ToldLock tells what is wrong once; client-go does at every attempt.
	elector.Run(klog.NewContext(ctx, klog.Logger{}))
	if lost.Load() {
		return errLeaseLost
	}
	return nil
}

// setLeading tells the controller, the metrics and the page whether this operator leads.
func (p *program) setLeading(leading bool) {
	p.metrics.Leading(leading)
	p.page.Leading(leading)
	if p.guard != nil {
		p.guard.Lead(leading)
	}
	if leading {
		p.controller.Lead()
	} else {
		p.controller.Unlead()
	}
}

// renewDeadline is for how long a leader tries to renew its lease before it ends.
func renewDeadline(lease time.Duration) time.Duration { return lease * 2 / 3 }

// retryPeriod is how long a standby waits between reads of the lease. The elector stretches every wait by up to 1.2
// times itself (leaderelection.JitterFactor), and counts a lease from when it saw the renewal. So a leader that was
// killed is followed two such waits after its lease at the latest, which with 200 ms is within a second.
func retryPeriod(lease time.Duration) time.Duration {
	return min(lease/8, 200*time.Millisecond)
}

func identity(o ControllerOptions) string {
	host := o.NodeName
	if name, err := os.Hostname(); err == nil {
		host = name
	}
	return host + "_" + string(uuid.NewUUID())
}
