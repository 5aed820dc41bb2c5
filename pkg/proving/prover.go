package proving

import (
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/gather"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/shares"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/witness"
	"github.com/rancher/helm-locker/pkg/writing"
)

const (
	// lostPatience is the time until a write without an answer can no longer be carried out: an API server ends a
	// request after a minute.
	lostPatience = 2 * time.Minute
	// writePatience is the time to remember an unproven write, because of an unreadable record or unfinished work of
	// Helm. Helm takes 5 minutes by default. An older write is not corrected any more: the object and its desired state
	// may have changed since for other reasons.
	writePatience = 10 * time.Minute
)

// Prover is the worker that proves the writes: it reads the record again after each one, and corrects a write that Helm
// may have overtaken.
type Prover struct {
	Enforcer *enforce.Enforcer
	Records  *watch.Releases
	Ledger   *ledger.Ledger
	Table    *lock.Table
	Roster   *roster.Roster
	Queues   *queues.Queues
	Slots    *shares.Slots
	Budget   *shares.Budget
	Loader   *load.Loader
	Inputs   *gather.Inputs
	Reporter *reporting.Reporter
	Writer   *writing.Writer
	Trusted  *witness.Trusted

	Clock clock.PassiveClock
	Log   logrus.FieldLogger
}

// RecordChanged enqueues the proof of the writes to a release after a change of its record.
func (pr *Prover) RecordChanged(key release.Key) {
	if pr.Writer.Unproven.Any(key, pr.Records.NewestNamed) {
		pr.Queues.Confirm.Add(key)
	}
}
