package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	leases "github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/version"
)

// errLeaseLost ends the process: another one leads now. Its writes carry preconditions, so a moment with two leaders
// does no harm. But a leader that cannot renew its lease must not write.
var errLeaseLost = errors.New("lost the leader lease")

// Election decides which of several replicas leads.
type Election struct {
	// Client is that of Leases.
	Client coordinationv1.LeasesGetter
	// Namespace and Name are those of the Lease, and Duration is its lifetime without a renewal.
	Namespace, Name string
	Duration        time.Duration
	// NodeName is the fallback for the host name in the identity of the replica.
	NodeName string
	// PodUID is the uid of the replica's Pod, or empty. With it, a restarted container does not wait for the lease of
	// its killed predecessor.
	PodUID string
	Log    logrus.FieldLogger
	// Lead and Unlead are called at the beginning and the end of this replica's leadership. The context of Lead ends
	// then.
	Lead   func(context.Context)
	Unlead func()
}

// Run takes part in the election, and gives the lease up when ctx ends. It returns an error when the lease is lost.
func (e Election) Run(ctx context.Context) error {
	var lost atomic.Bool
	pod := podIdentity(e.NodeName, e.PodUID)
	lock := &loggedLock{log: e.Log, Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
		Client:     e.Client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: pod + string(uuid.NewUUID())},
		Labels:     versionLabels(version.Version),
	}}
	if e.PodUID != "" {
		releasePredecessor(ctx, lock, pod, e.Log)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &throttledLock{Interface: lock, every: renewPeriod(e.Duration), now: time.Now},
		Name: e.Name, ReleaseOnCancel: true,
		LeaseDuration: e.Duration, RenewDeadline: renewDeadline(e.Duration), RetryPeriod: retryPeriod(e.Duration),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				e.Log.Info("leading")
				e.Lead(ctx)
			},
			OnStoppedLeading: func() {
				e.Unlead()
				lost.Store(ctx.Err() == nil)
			},
			OnNewLeader: func(id string) {
				e.Log.Infof("leader is %s", id)
			},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	// loggedLock logs a failure once; client-go logs it at every attempt.
	elector.Run(klog.NewContext(ctx, klog.Logger{}))
	if lost.Load() {
		return errLeaseLost
	}
	return nil
}

// renewDeadline is for how long a leader tries to renew its lease before it ends.
func renewDeadline(lease time.Duration) time.Duration { return lease * 2 / 3 }

// retryPeriod is the wait of a standby between reads of the lease. The elector stretches every wait by up to 1.2 times
// itself (leaderelection.JitterFactor), and counts a lease from its own sight of the renewal. A standby so follows a
// killed leader within two waits after the end of the lease: with 200 ms, within a second.
func retryPeriod(lease time.Duration) time.Duration {
	return min(lease/8, 200*time.Millisecond)
}

// versionLabels returns the labels of a Lease whose holder has a version. They are nil for a version that is no valid
// value of a label.
func versionLabels(of string) map[string]string {
	of = strings.ReplaceAll(of, "+", "_") // as in the labels of charts
	if len(validation.IsValidLabelValue(of)) > 0 {
		return nil
	}
	return map[string]string{leases.VersionLabel: of}
}

// podIdentity returns the part of an identity that all containers of a Pod share.
func podIdentity(node, uid string) string {
	host := node
	if name, err := os.Hostname(); err == nil {
		host = name
	}
	if uid == "" {
		return host + "_"
	}
	return host + "_" + uid + "_"
}

// releasePredecessor releases a lease that an earlier container of the same Pod holds. The kubelet starts a container
// after the end of the one before it, so that holder was killed. The election takes place as after a regular end: a
// standby may win it, and the number of transitions grows. lock logs errors; after one, the lease expires.
func releasePredecessor(ctx context.Context, lock resourcelock.Interface, pod string, log logrus.FieldLogger) {
	held, _, err := lock.Get(ctx)
	if err != nil || !strings.HasPrefix(held.HolderIdentity, pod) {
		return
	}
	now := metav1.Now()
	err = lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: held.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
	if err == nil {
		log.Infof("released the lease of %s, the predecessor in this Pod", held.HolderIdentity)
	}
}
