// Package reporting writes the statuses of HelmReleases, and the log, the events, the notifications and the metrics about
// them.
package reporting

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/status"
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

// Record adds a drift, and the action against it, to the history, the log, the metrics and the events. A drift by
// several managers has one event, and a record, a line and a notification for each manager.
func (rep *Reporter) Record(l *lock.Lock, d *events.Drift, action v1alpha1.DriftAction) {
	if rep.ObjectSetMetadata {
		if d = d.WithoutObjectSets(); d == nil {
			return
		}
	}
	d.Requests = l.Requests.Take(d.ID)
	now, restored := rep.Clock.Now(), ledger.Restores(action)
	portions := d.Portions()
	records := make([]v1alpha1.DriftRecord, len(portions))
	var longest events.Life
	for i, p := range portions {
		lived := events.Life{}
		if restored {
			lived = d.Life(l, p, now)
		}
		if lived.Span >= longest.Span {
			longest = lived
		}
		records[i] = d.Record(p, action, lived)
		rep.Log.WithFields(p.Logged(l, d.ID, lived)).Info(strings.ToLower(string(action)))
	}
	// A standby sees drift in mode Detect, too. It remembers the drift until it leads; the leader reports it.
	standby := action == v1alpha1.DriftActionReported && !rep.Leading.Load()
	rep.Ledger.Update(l.Key, func(e *ledger.Entry) {
		e.History.Add(records...)
		if !standby {
			rep.Metrics.Drift(l.Release, d.ID.Kind, string(action), now.Sub(d.SeenFirst(d.Found.Changes)), restored)
		}
	})
	rep.Queues.StatusChanged(l.Key)
	if standby {
		return
	}
	for i := range records {
		rep.sendDrift(l, &records[i])
	}
	if on, of, ok := events.OfDrift(l, d, action, longest); ok {
		rep.recordDrift(l, d, on, of)
	}
}

// mayRecord reports whether the budget allows another event about the drift of a release.
func (rep *Reporter) mayRecord(l *lock.Lock) bool {
	return rep.eventBudget.Allow(l.Release.Namespace, rep.Clock.Now())
}

// recordDrift records the events of a drift. In a storm, thousands of events would cost the API server more than the
// reverts, and the counts in the status are more useful.
func (rep *Reporter) recordDrift(l *lock.Lock, d *events.Drift, on, of events.Event) {
	rep.announcements.flush(l.Key)
	if hr := rep.Roster.Get(l.Key); hr != nil && rep.mayRecord(l) {
		rep.emit(reference(hr), on)
	}
	if d.Live != nil && rep.mayRecord(l) {
		rep.emit(d.Live, of)
	}
}

// Event records an event on a HelmRelease, if this controller leads: a standby sees the same and would repeat it.
func (rep *Reporter) Event(hr *v1alpha1.HelmRelease, e events.Event) {
	if hr == nil {
		return
	}
	rep.announcements.flush(roster.KeyOf(hr))
	if rep.Leading.Load() {
		rep.emit(reference(hr), e)
	}
}

// emit records an event. Text quoted from the cluster cannot move the cursor of a reader's terminal or pass for another
// line.
func (rep *Reporter) emit(about runtime.Object, e events.Event) {
	rep.Events.Event(about, e.Type, e.Reason, plain.Cut(plain.Line(e.Text), maxEventBytes))
}

// maxEventBytes bounds the message of an event, as the newer of the two event APIs does.
const maxEventBytes = 1024

func (rep *Reporter) Locked(hr *v1alpha1.HelmRelease, l *lock.Lock, objects int) {
	if l.Doubt != "" {
		return // it is locked once it is trusted; until then the worker for leftovers announces the doubt
	}
	rep.announcements.hold(l.Key, func() { rep.Event(hr, events.Locked(l, objects)) })
	rep.Log.WithFields(logrus.Fields{"release": l.Release.String(), "revision": l.Record.Revision,
		"objects": objects}).Info("locked")
}

// Doubted records that a record is not enforced, on the HelmRelease and on the record.
func (rep *Reporter) Doubted(hr *v1alpha1.HelmRelease, l *lock.Lock) {
	rep.Log.WithField("release", l.Release.String()).Warn("not enforced: " + l.Doubt)
	rep.Event(hr, events.Doubt(l))
	if rep.mayRecord(l) {
		rep.emit(&corev1.ObjectReference{APIVersion: "v1", Kind: l.Record.Storage.Kind(), UID: l.Record.UID,
			Namespace: l.Record.Key.Namespace, Name: l.Record.ObjectName}, events.Doubt(l))
	}
}

func (rep *Reporter) Unlocked(hr *v1alpha1.HelmRelease, before, now lock.Decision) {
	if before.Reason == now.Reason && before.State == now.State {
		return
	}
	rep.Log.WithField("release", roster.ReleaseOf(hr).String()).Info("not locked: " + now.Message)
	rep.Event(hr, events.Unlocked(now))
}

// Problem records the problem that prevents a lock, if a user has to act on it.
func (rep *Reporter) Problem(hr *v1alpha1.HelmRelease, p status.Problem) {
	e, ok := events.Problem(p)
	if !ok {
		return
	}
	if hr != nil {
		rep.Log.WithField("release", roster.ReleaseOf(hr).String()).Warn("not locked: " + p.Message)
	}
	rep.Event(hr, e)
}

func (rep *Reporter) Trouble(hr *v1alpha1.HelmRelease, rev *load.Revision, denied status.Denials, conflicts []lock.Conflict) {
	for _, e := range events.Conflicts(conflicts) {
		rep.Event(hr, e)
	}
	if e, ok := events.Waiting(slices.Collect(maps.Keys(rev.Waiting))); ok {
		rep.Event(hr, e)
	}
	for _, s := range rev.Skipped {
		rep.Log.WithField("release", roster.ReleaseOf(hr).String()).Infof("not locked: %s %s (document %d): %s", s.Kind,
			s.Name, s.Doc, s.Reason)
	}
	if d := denied; len(d.Objects) > 0 {
		rep.Log.WithField("release", roster.ReleaseOf(hr).String()).Warn(d.Message())
		rep.Event(hr, events.Denials(d))
	}
}

func (rep *Reporter) Fight(l *lock.Lock, d *events.Drift) {
	rep.Ledger.Update(l.Key, func(*ledger.Entry) { rep.Metrics.Contended(l.Release, d.ID.Kind) })
	rep.sendFight(l, d)
	rep.Log.WithFields(logrus.Fields{"release": l.Release.String(), "object": d.ID.String(),
		"what": d.Summary()}).Warn("something keeps changing the object back; " + status.Paced)
	rep.Event(rep.Roster.Get(l.Key), events.Fight(d))
}

// Deletion records that the deletion of an object is pending, on the HelmRelease and on the object.
func (rep *Reporter) Deletion(l *lock.Lock, w *lock.Work, live *unstructured.Unstructured, p *lock.Problem) {
	if !rep.Leading.Load() {
		return
	}
	rep.Log.WithField("release", l.Release.String()).WithField("object", w.ID.String()).Warn(p.Message)
	on, of := events.Deletion(l, w.ID, p)
	if rep.mayRecord(l) {
		rep.Event(rep.Roster.Get(l.Key), on)
	}
	if rep.mayRecord(l) {
		rep.emit(live, of)
	}
}

// Superseded records the result of a write that was superseded by Helm's work.
func (rep *Reporter) Superseded(w lock.Write, e events.Event) {
	rep.Log.WithField("release", w.Record.Key.String()).Info(e.Text)
	rep.Event(rep.Roster.Get(w.Key), e)
}

// reference returns the reference to a HelmRelease for its events.
func reference(hr *v1alpha1.HelmRelease) *v1alpha1.HelmRelease {
	ref := &v1alpha1.HelmRelease{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "HelmRelease"},
	}
	ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = hr.Namespace, hr.Name, hr.UID, hr.ResourceVersion
	return ref
}
