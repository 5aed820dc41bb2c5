package prune

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/shares"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/witness"
	"github.com/rancher/helm-locker/pkg/writing"
)

// Options configure a Pruner.
type Options struct {
	Enforcer *enforce.Enforcer
	Metadata metadata.Interface
	Kinds    *watch.Kinds
	Records  *watch.Releases
	Ledger   *ledger.Ledger
	Table    *lock.Table
	Roster   *roster.Roster
	Queues   *queues.Queues
	Slots    *shares.Slots
	Budget   *shares.Budget
	Loader   *load.Loader
	Views    *reporting.Views
	Reporter *reporting.Reporter
	Writer   *writing.Writer
	Trusted  *witness.Trusted
	// Own are the objects of the operator itself.
	Own judge.Own
	// Leading is set while this process may write.
	Leading *atomic.Bool

	Clock   clock.PassiveClock
	Log     logrus.FieldLogger
	Metrics *metrics.Metrics
}

// Pruner is the worker that deletes the prune candidates of earlier revisions.
type Pruner struct {
	Options
	pace flowcontrol.RateLimiter

	mu sync.Mutex
	// known are the candidates of each HelmRelease; mu guards it.
	known map[string]candidates
}

// New returns a Pruner.
func New(o Options) *Pruner {
	return &Pruner{Options: o, known: map[string]candidates{},
		pace: flowcontrol.NewTokenBucketRateLimiter(historyReadsPerSecond, historyReadsAtOnce)}
}

// Forget drops the candidates of a HelmRelease whose lock has ended for good.
func (pr *Pruner) Forget(key string) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	delete(pr.known, key)
}

// DefinitionChanged enqueues the releases that wait for a kind.
func (pr *Pruner) DefinitionChanged() {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	for key, known := range pr.known {
		if known.waits != nil {
			pr.Queues.Pruning.Add(key)
		}
	}
}

// candidatesOf returns the candidates of a HelmRelease.
func (pr *Pruner) candidatesOf(key string) candidates {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pr.known[key]
}

// Reading the history of every release at the start would be felt, and nothing waits for it.
const (
	historyReadsPerSecond = 10
	historyReadsAtOnce    = 20
	// historyLater is the time until kinds of earlier revisions are discovered again if no definition has changed. Many
	// releases have a removed kind of Kubernetes in their history.
	historyLater = 10 * time.Minute
)

// remember keeps the candidates for the next lock. Those of a doubted record are for that lock alone: the objects that
// it still declares are candidates again under the next record. Late work on a lock that has ended is dropped: Forget
// comes after its end.
func (pr *Pruner) remember(l *lock.Lock, known candidates) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.Table.Get(l.Key) != l {
		return
	}
	if l.Doubt != "" {
		before := pr.known[l.Key]
		known.read, known.removed = before.read, before.removed
	}
	pr.known[l.Key] = known
}
