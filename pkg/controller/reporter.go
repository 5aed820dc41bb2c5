package controller

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/status"
)

// reporter writes the log, the events, the notifications and the metrics.
type reporter struct {
	*common
	// eventBudget bounds the events about drift, by the namespace of the release.
	eventBudget *fair.Rate
	// announcements are events that can wait.
	announcements announcements

	mu   sync.Mutex
	sent map[string]sent // by HelmRelease key, of those whose status this process has written; mu guards it
}

func newReporter(c *common) *reporter {
	return &reporter{
		common: c, sent: map[string]sent{},
		eventBudget: fair.NewRate(eventsPerSecond, eventBurst, 0),
	}
}

// record adds a drift, and the action against it, to the history, the log, the metrics and the events. A drift by
// several managers has one event, and a record, a line and a notification for each manager.
func (rep *reporter) record(l *lock.Lock, v *result, action v1alpha1.DriftAction) {
	d := &v.Drift
	if rep.ObjectSetMetadata {
		if d = d.WithoutObjectSets(); d == nil {
			return
		}
	}
	d.Requests = l.Requests.Take(d.ID)
	now, restored := rep.Clock.Now(), restores(action)
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
	standby := action == v1alpha1.DriftActionReported && !rep.leading.Load()
	rep.entries.update(l.Key, func(e *entry) {
		e.history.add(records...)
		if !standby {
			rep.Metrics.Drift(l.Release, d.ID.Kind, string(action), now.Sub(d.SeenFirst(d.Found.Changes)), restored)
		}
	})
	rep.statusChanged(l.Key)
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

// restores reports whether an action made the objects of the release as the manifest has them.
func restores(action v1alpha1.DriftAction) bool {
	switch action {
	case v1alpha1.DriftActionReverted, v1alpha1.DriftActionRecreated, v1alpha1.DriftActionReplaced,
		v1alpha1.DriftActionPruned:
		return true
	}
	return false
}

// mayRecord reports whether the budget allows another event about the drift of a release.
func (rep *reporter) mayRecord(l *lock.Lock) bool {
	return rep.eventBudget.Allow(l.Release.Namespace, rep.Clock.Now())
}

// recordDrift records the events of a drift. In a storm, thousands of events would cost the API server more than the
// reverts, and the counts in the status are more useful.
func (rep *reporter) recordDrift(l *lock.Lock, d *events.Drift, on, of events.Event) {
	rep.announcements.flush(l.Key)
	if hr := rep.cached(l.Key); hr != nil && rep.mayRecord(l) {
		rep.emit(objectReference(hr), on)
	}
	if d.Live != nil && rep.mayRecord(l) {
		rep.emit(d.Live, of)
	}
}

// event records an event on a HelmRelease, if this controller leads: a standby sees the same and would repeat it.
func (rep *reporter) event(hr *v1alpha1.HelmRelease, e events.Event) {
	if hr == nil {
		return
	}
	rep.announcements.flush(keyOf(hr))
	if rep.leading.Load() {
		rep.emit(objectReference(hr), e)
	}
}

// emit records an event. Text quoted from the cluster cannot move the cursor of a reader's terminal or pass for another
// line.
func (rep *reporter) emit(about runtime.Object, e events.Event) {
	rep.Events.Event(about, e.Type, e.Reason, plain.Cut(plain.Line(e.Text), maxEventBytes))
}

// maxEventBytes bounds the message of an event, as the newer of the two event APIs does.
const maxEventBytes = 1024

func (rep *reporter) announceLocked(hr *v1alpha1.HelmRelease, l *lock.Lock, objects int) {
	if l.Doubt != "" {
		return // it is locked once it is trusted; until then reviewDoubt announces the doubt
	}
	rep.announcements.hold(l.Key, func() { rep.event(hr, events.Locked(l, objects)) })
	rep.Log.WithFields(logrus.Fields{"release": l.Release.String(), "revision": l.Record.Revision,
		"objects": objects}).Info("locked")
}

// announceDoubt records that a record is not enforced, on the HelmRelease and on the record.
func (rep *reporter) announceDoubt(hr *v1alpha1.HelmRelease, l *lock.Lock) {
	rep.Log.WithField("release", l.Release.String()).Warn("not enforced: " + l.Doubt)
	rep.event(hr, events.Doubt(l))
	if rep.mayRecord(l) {
		rep.emit(&corev1.ObjectReference{APIVersion: "v1", Kind: l.Record.Storage.Kind(), UID: l.Record.UID,
			Namespace: l.Record.Key.Namespace, Name: l.Record.ObjectName}, events.Doubt(l))
	}
}

func (rep *reporter) announceUnlocked(hr *v1alpha1.HelmRelease, before, now lock.Decision) {
	if before.Reason == now.Reason && before.State == now.State {
		return
	}
	rep.Log.WithField("release", releaseKey(hr).String()).Info("not locked: " + now.Message)
	rep.event(hr, events.Unlocked(now))
}

// announceProblem records the problem that prevents a lock, if a user has to act on it.
func (rep *reporter) announceProblem(hr *v1alpha1.HelmRelease, p status.Problem) {
	e, ok := events.Problem(p)
	if !ok {
		return
	}
	if hr != nil {
		rep.Log.WithField("release", releaseKey(hr).String()).Warn("not locked: " + p.Message)
	}
	rep.event(hr, e)
}

func (rep *reporter) announceTrouble(hr *v1alpha1.HelmRelease, ld *loaded, conflicts []lock.Conflict) {
	for _, e := range events.Conflicts(conflicts) {
		rep.event(hr, e)
	}
	if e, ok := events.Waiting(slices.Collect(maps.Keys(ld.waiting))); ok {
		rep.event(hr, e)
	}
	for _, s := range ld.skipped {
		rep.Log.WithField("release", releaseKey(hr).String()).Infof("not locked: %s %s (document %d): %s", s.Kind,
			s.Name, s.Doc, s.Reason)
	}
	if d := ld.denials; len(d.Objects) > 0 {
		rep.Log.WithField("release", releaseKey(hr).String()).Warn(d.Message())
		rep.event(hr, events.Denials(d))
	}
}

func (rep *reporter) announceFight(l *lock.Lock, v *result) {
	rep.entries.update(l.Key, func(*entry) { rep.Metrics.Contended(l.Release, v.ID.Kind) })
	rep.sendFight(l, v)
	rep.Log.WithFields(logrus.Fields{"release": l.Release.String(), "object": v.ID.String(),
		"what": v.Summary()}).Warn("something keeps changing the object back; " + status.Paced)
	rep.event(rep.cached(l.Key), events.Fight(&v.Drift))
}

// announceDeletion records that the deletion of an object is pending, on the HelmRelease and on the object.
func (rep *reporter) announceDeletion(l *lock.Lock, w *lock.Work, live *unstructured.Unstructured, p *lock.Problem) {
	if !rep.leading.Load() {
		return
	}
	rep.Log.WithField("release", l.Release.String()).WithField("object", w.ID.String()).Warn(p.Message)
	on, of := events.Deletion(l, w.ID, p)
	if rep.mayRecord(l) {
		rep.event(rep.cached(l.Key), on)
	}
	if rep.mayRecord(l) {
		rep.emit(live, of)
	}
}

// superseded records the result of a write that was superseded by Helm's work.
func (rep *reporter) superseded(w lock.Write, e events.Event) {
	rep.Log.WithField("release", w.Record.Key.String()).Info(e.Text)
	rep.event(rep.cached(w.Key), e)
}
