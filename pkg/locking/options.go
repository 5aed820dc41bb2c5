package locking

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/gather"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/observe"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/settled"
	"github.com/rancher/helm-locker/pkg/shares"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/witness"
)

// Options configure a Locker.
type Options struct {
	// Accounts reviews the rights of accounts, and Policy selects the user to impersonate for writes to a release.
	Accounts *enforce.Accounts
	Policy   accounts.Policy
	// HelmReleases claims HelmReleases, and Metadata lists records in storages that no watch reads.
	HelmReleases helmcontrollers.HelmReleaseController
	Metadata     metadata.Interface
	Kinds        *watch.Kinds
	Records      *watch.Releases
	Objects      *watch.Objects
	Observer     *observe.Observer
	Ledger       *ledger.Ledger
	Table        *lock.Table
	Claims       *claims.Claims
	Roster       *roster.Roster
	Queues       *queues.Queues
	Slots        *shares.Slots
	Budget       *shares.Budget
	Loader       *load.Loader
	Inputs       *gather.Inputs
	Memory       *settled.Memory
	Reporter     *reporting.Reporter
	Trusted      *witness.Trusted
	// Witnessed is set if only trusted records are enforced.
	Witnessed bool
	// Leading is set while this process may write.
	Leading *atomic.Bool
	// Untracked is called with the key of a HelmRelease that this controller no longer manages.
	Untracked func(key string)

	Clock clock.WithTicker
	Log   logrus.FieldLogger
}

// Locker is the worker that brings the locks in line with HelmReleases and records.
type Locker struct {
	*Options
	relist  *relist
	claimer *claimer
	rights  *rights
	start   startBarrier
}

// New returns a Locker.
func New(o *Options) *Locker {
	return &Locker{Options: o, relist: newRelist(o), rights: &rights{o},
		claimer: &claimer{Options: o, behind: map[string][]string{}}}
}

// Holder returns the HelmRelease that locks a release; nil for none.
func (lk *Locker) Holder(key release.Key) *v1alpha1.HelmRelease { return lk.claimer.holder(key) }

// Start calls then once the HelmReleases with these keys were reconciled, or after a while.
func (lk *Locker) Start(keys []string, then func()) { lk.start.wait(keys, then) }

// Run ends the wait of Start, and makes the shared lists, until ctx ends.
func (lk *Locker) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { lk.startAnyway(ctx) })
	lk.relist.run(ctx, lk.toReconcile)
	running.Wait()
}
