package locking

import (
	"sync/atomic"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/gather"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/observe"
	"github.com/rancher/helm-locker/pkg/queues"
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

// toReconcile returns the number of HelmReleases waiting to be reconciled.
func (o *Options) toReconcile() int { return o.Queues.Releases.Len() + o.Slots.Loading.Waiting() }
