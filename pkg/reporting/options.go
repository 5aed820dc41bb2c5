package reporting

import (
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/roster"
)

// The bounds of the events about drift, for each namespace of releases.
const (
	eventsPerSecond = 2
	eventBurst      = 50
)

// Options configure a Reporter.
type Options struct {
	Ledger *ledger.Ledger
	Queues *queues.Queues
	Roster *roster.Roster
	// Leading is set while this process may write.
	Leading *atomic.Bool
	// ObjectSetMetadata is set if reverts write wrangler's ObjectSet labels and annotations.
	ObjectSetMetadata bool

	Clock   clock.PassiveClock
	Log     logrus.FieldLogger
	Metrics *metrics.Metrics
	Events  record.EventRecorder
	// Notify receives the content of the events, for people and programs outside the cluster; nil for none.
	Notify Notifier
}

// Notifier receives messages about releases. Send must return at once, even if the message cannot be delivered.
type Notifier interface {
	Send(*message.Message)
}

// sent is the last report about the lock of a HelmRelease.
type sent struct {
	uid       types.UID // of the HelmRelease
	release   release.Key
	lock      message.Lock
	contended bool
	writer    string // the message of ExpectedWriter while it is False
}

// Reporter writes the log, the events, the notifications and the metrics. It is safe for concurrent use.
type Reporter struct {
	Options
	// eventBudget bounds the events about drift, by the namespace of the release.
	eventBudget *fair.Rate
	// announcements are events that can wait.
	announcements announcements

	mu   sync.Mutex
	sent map[string]sent // by HelmRelease key, of those whose status this process has written; mu guards it
}

// New returns a Reporter.
func New(o Options) *Reporter {
	return &Reporter{Options: o, sent: map[string]sent{}, eventBudget: fair.NewRate(eventsPerSecond, eventBurst, 0)}
}
