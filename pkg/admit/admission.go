package admit

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/gather"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/salvage"
)

// Options configure an Admission.
type Options struct {
	Kinds    *lock.Kinds // those of all objects ever locked
	Inputs   *gather.Inputs
	Others   *claims.Others
	Metadata metadata.Interface
	// DryRunner dry-runs reverts, and Spend charges a release with the time.
	DryRunner salvage.DryRunner
	Spend     func(of release.Key, now time.Time, took time.Duration)
	// StillAsked reports whether the HelmRelease still asks for a lock, at a moment after the call.
	StillAsked func(context.Context, *lock.Lock) (bool, error)
	// Denied records a refused request.
	Denied func(*Denial)

	Clock   clock.PassiveClock
	Log     logrus.FieldLogger
	Metrics *metrics.Metrics
}

// Denial is a refused request.
type Denial struct {
	Lock    *lock.Lock
	Object  *lock.Object
	Live    *unstructured.Unstructured // nil when it is unknown
	Changes []drift.Change
	Sender  string
	Groups  []string // of the sender
}

// Admission decides on each change or deletion of a locked object before the API server carries it out. It has no
// queue, because the API server waits for the answer. Every replica has one, as each has all locks. A request without a
// decision in time passes, and is reverted. It is safe for concurrent use.
type Admission struct {
	Options
	// deciding bounds the concurrent decisions, by the namespace of the release.
	deciding *fair.Semaphore
}

// New returns an admission.
func New(o Options) *Admission {
	return &Admission{Options: o, deciding: fair.NewSemaphore(fair.Limits{All: 16, Each: 4})}
}

// question is a request about a locked object.
type question struct {
	judge.Admission
	lock   *lock.Lock
	object *lock.Object
	sender string
	groups []string // of the sender
	// slot releases the semaphore after the answer.
	slot func()
}
