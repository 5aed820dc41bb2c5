package remediate

import (
	"sync/atomic"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/gather"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/settled"
	"github.com/rancher/helm-locker/pkg/shares"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/writing"
)

// Options configure a Remediation.
type Options struct {
	Enforcer *enforce.Enforcer
	Metadata metadata.Interface
	Kinds    *watch.Kinds
	Ledger   *ledger.Ledger
	Table    *lock.Table
	Claims   *claims.Claims
	Others   *claims.Others
	Roster   *roster.Roster
	Queues   *queues.Queues
	Slots    *shares.Slots
	Budget   *shares.Budget
	Loader   *load.Loader
	Inputs   *gather.Inputs
	Memory   *settled.Memory
	Reporter *reporting.Reporter
	Writer   *writing.Writer
	Hasher   drift.Hasher
	// Leading is set while this process may write.
	Leading *atomic.Bool

	Clock   clock.PassiveClock
	Log     logrus.FieldLogger
	Metrics *metrics.Metrics
}

// complete returns an object to its lock and enqueues the lock if there is more to do.
func (o *Options) complete(l *lock.Lock, w *lock.Work, outcome lock.Outcome) {
	outcome.Now = o.Clock.Now()
	if l.Done(w.ID, outcome) {
		o.Queues.Drift.Add(l.Key)
	}
	if l.Doubt != "" {
		o.Queues.Pruning.Add(l.Key) // the doubt ends with what would be written
	}
	o.Queues.StatusChanged(l.Key)
}

// problemOf describes an error about an object for the status.
func problemOf(id manifest.ID, err error, drifted bool) *lock.Problem {
	reason := v1alpha1.ReasonRevertFailed
	if apierrors.IsForbidden(err) {
		reason = v1alpha1.ReasonForbidden
	}
	return &lock.Problem{Reason: reason, Message: apierror.About(id.GroupKind(), err), Drifted: drifted}
}
