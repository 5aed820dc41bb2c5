package reporting

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/trust"
)

// send sends a message about a HelmRelease. Callers have written a status or an object, or lead: a standby sees the
// same drift, and would repeat it. A controller that has just lost the lead sends those about its last writes.
func (rep *Reporter) send(key string, of release.Key, m message.Message) {
	if rep.Notify == nil {
		return
	}
	namespace, name, _ := strings.Cut(key, "/")
	m.HelmRelease, m.Release = &message.Reference{Namespace: namespace, Name: name}, new(message.Reference(of))
	if m.Time.IsZero() {
		m.Time = rep.Clock.Now()
	}
	rep.Notify.Send(&m)
}

// sendDrift sends a record of the drift history. The record must not be changed afterwards.
func (rep *Reporter) sendDrift(l *lock.Lock, r *v1alpha1.DriftRecord) {
	rep.send(l.Key, l.Release, message.Message{Type: message.TypeOf(r.Action), Time: r.Time.Time, Drift: r})
}

func (rep *Reporter) sendFight(l *lock.Lock, d *events.Drift) {
	object := judge.ObjectOf(d.ID)
	paths, more := events.Paths(d.Found.Changes)
	manager := ""
	if all := d.Portions(); len(all) == 1 { // of several, the message says who changed what
		manager = all[0].Manager
	}
	rep.send(l.Key, l.Release, message.Message{Type: message.ContentionBegan, Contention: &message.Contention{
		Object: &object, Paths: paths, MorePaths: more, FieldManager: manager,
		Message: d.Summary() + ", again and again; " + status.Paced,
	}})
}

// sendChanges sends the differences between a status that was just written and the last report. That report is from
// this process, or from the writer of the status found at the start, so a restart repeats no message.
func (rep *Reporter) sendChanges(hr *v1alpha1.HelmRelease, now v1alpha1.HelmReleaseStatus, by *trust.Writer) {
	key := roster.KeyOf(hr)
	rep.mu.Lock()
	before, known := rep.sent[key]
	if !known || before.uid != hr.UID {
		before = sentBy(hr, hr.Status)
	}
	after := sentBy(hr, now)
	rep.sent[key] = after
	rep.mu.Unlock()

	of := roster.ReleaseOf(hr)
	if b, a := before.lock, after.lock; b.Locked != a.Locked || b.Reason != a.Reason || b.Revision != a.Revision {
		rep.send(key, of, message.Message{Type: message.LockChanged, Lock: &after.lock})
	}
	if after.writer != "" && after.writer != before.writer && by != nil {
		e, _ := events.Problem(status.Problem{Reason: v1alpha1.ReasonUnexpectedWriter, Message: after.writer})
		rep.Event(hr, e)
		rep.send(key, of, message.Message{Type: message.WriterUnexpected,
			Unexpected: &message.Writer{Revision: by.Revision, User: by.Writer}})
	}
	if before.contended && !after.contended {
		m := message.Contention{}
		if cond := meta.FindStatusCondition(now.Conditions, v1alpha1.ConditionContended); cond != nil {
			m.Message = cond.Message
		}
		rep.send(key, of, message.Message{Type: message.ContentionEnded, Contention: &m})
	}
}

// sentBy returns the report in a status.
func sentBy(hr *v1alpha1.HelmRelease, s v1alpha1.HelmReleaseStatus) sent {
	t := sent{uid: hr.UID, release: roster.ReleaseOf(hr),
		contended: meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionContended)}
	t.lock = message.Lock{State: s.State, Revision: s.Revision}
	if cond := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionLocked); cond != nil {
		t.lock.Locked, t.lock.Reason, t.lock.Message = cond.Status == metav1.ConditionTrue, cond.Reason, cond.Message
	}
	if kind := v1alpha1.ConditionExpectedWriter; meta.IsStatusConditionFalse(s.Conditions, kind) {
		t.writer = meta.FindStatusCondition(s.Conditions, kind).Message
	}
	return t
}

// forgetSent returns, and forgets, the last report about a HelmRelease; false without any.
func (rep *Reporter) forgetSent(key string) (last sent, known bool) {
	rep.mu.Lock()
	defer rep.mu.Unlock()
	last, known = rep.sent[key]
	delete(rep.sent, key)
	return last, known
}

// sendGone reports that this operator no longer manages a HelmRelease.
func (rep *Reporter) sendGone(key string) {
	last, known := rep.forgetSent(key)
	if !known {
		return
	}
	rep.send(key, last.release, message.Message{Type: message.LockChanged, Lock: &message.Lock{
		Reason: v1alpha1.EventReasonUntracked, Message: "no longer locked by this operator"}})
}
