// Package reporting writes the statuses of HelmReleases, and the log, the events, the notifications and the metrics
// about them.
package reporting

import (
	"maps"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/admit"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/status"
)

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

// recordDrift records the events of a drift. In a storm, thousands of events would cost the API server more than the
// reverts, and the counts in the status are more useful.
func (rep *Reporter) recordDrift(l *lock.Lock, d *events.Drift, on, of events.Event) {
	rep.announcements.flush(l.Key)
	if hr := rep.Roster.Get(l.Key); hr != nil {
		rep.emitFor(l, reference(hr), on)
	}
	if d.Live != nil {
		rep.emitFor(l, d.Live, of)
	}
}

// Locked reports a new lock with this number of objects.
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
	rep.emitFor(l, &corev1.ObjectReference{APIVersion: "v1", Kind: l.Record.Storage.Kind(), UID: l.Record.UID,
		Namespace: l.Record.Key.Namespace, Name: l.Record.ObjectName}, events.Doubt(l))
}

// Unlocked reports the end of a lock, or another reason for none.
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

// Trouble reports the objects of a revision that are not locked.
func (rep *Reporter) Trouble(
	hr *v1alpha1.HelmRelease, rev *load.Revision, denied status.Denials, conflicts []lock.Conflict,
) {
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

// Fight reports the beginning of a fight.
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
	rep.emitFor(l, live, of)
}

// Superseded records the result of a write that was superseded by Helm's work.
func (rep *Reporter) Superseded(w lock.Write, e events.Event) {
	rep.Log.WithField("release", w.Record.Key.String()).Info(e.Text)
	rep.Event(rep.Roster.Get(w.Key), e)
}

// Denied records a refused request. It is not drift: the object is unchanged.
func (rep *Reporter) Denied(q *admit.Denial) {
	l, id := q.Lock, q.Object.ID
	d := &events.Drift{Work: &lock.Work{Object: q.Object, Observation: lock.Observation{Seen: rep.Clock.Now()}}}
	p := events.Portion{Attribution: drift.Attribution{Changes: q.Changes}, Did: events.OperationOf(q.Changes),
		Users: []string{q.Sender}, Groups: q.Groups}
	r := d.Record(p, v1alpha1.DriftActionDenied, events.Life{})
	r.Count = 1
	rep.Ledger.Update(l.Key, func(e *ledger.Entry) {
		e.History.AddDenied(r)
		rep.Metrics.Drift(l.Release, id.Kind, string(r.Action), 0, false)
	})
	rep.Log.WithFields(p.Logged(l, id, events.Life{})).Info("denied")
	rep.Queues.StatusChanged(l.Key)
	if hr := rep.Roster.Get(l.Key); hr != nil && rep.mayRecord(l) {
		rep.emit(reference(hr), events.RequestDenied(id, p))
		rep.sendDrift(l, &r)
	}
	if q.Live != nil {
		rep.emitFor(l, &corev1.ObjectReference{APIVersion: q.Object.GVK.GroupVersion().String(), Kind: id.Kind,
			Namespace: id.Namespace, Name: id.Name, UID: q.Live.GetUID()}, events.RequestDenied(id, p))
	}
}
