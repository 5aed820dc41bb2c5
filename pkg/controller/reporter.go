package controller

import (
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/flowcontrol"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/report"
)

// reporter tells people and programs what happens: log, events, notifications and metrics.
type reporter struct {
	*common
	eventBudget flowcontrol.PassiveRateLimiter
	// announcements are events that can wait.
	announcements announcements

	mu   sync.Mutex
	told map[string]told // by HelmRelease key, of those whose status this process has written; mu guards it
}

func newReporter(c *common) *reporter {
	return &reporter{
		common: c, told: map[string]told{},
		eventBudget: flowcontrol.NewTokenBucketPassiveRateLimiter(eventsPerSecond, eventBurst),
	}
}

func driftedObject(id manifest.ID) v1alpha1.DriftedObject {
	return v1alpha1.DriftedObject{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// record puts a drift and what was done about it into the history, the log, the metrics and the events.
func (rep *reporter) record(l *lock.Lock, v *result, action v1alpha1.DriftAction, lived time.Duration) {
	paths, more := v.paths()
	r := v1alpha1.DriftRecord{
		Time: metav1.NewMicroTime(v.Seen), Object: driftedObject(v.ID), Operation: v.operation, Paths: paths,
		MorePaths:    more,
		FieldManager: v.author.Manager, FieldManagerOperation: v.author.Operation, Subresource: v.author.Subresource,
		Action: action,
	}
	if !v.author.Time.IsZero() {
		r.ChangeTime = &metav1.Time{Time: v.author.Time.UTC()}
	}
	restored := restores(action)
	if restored {
		r.Duration = &metav1.Duration{Duration: lived.Round(100 * time.Microsecond)}
	}
	// A standby sees drift that is only reported, too. It remembers it for when it leads; the leader tells about it.
	standby := action == v1alpha1.DriftActionReported && !rep.leading.Load()
	rep.entries.update(l.Key, func(e *entry) {
		e.history.add(r)
		if !standby {
			rep.Metrics.Drift(l.Release, v.ID.Kind, string(action), lived, restored)
		}
	})
	rep.Log.WithFields(v.logged(l, lived)).Info(strings.ToLower(string(action)))
	rep.statusChanged(l.Key)
	if standby {
		return
	}
	rep.tellDrift(l, &r)
	if on, of, ok := driftEvents(l, v, action, lived); ok {
		rep.recordDrift(l, v, on, of)
	}
}

// logged returns what the log tells about a drift, as far as there is something to tell: of an object that was
// deleted neither who did it nor a path is known, and what is only reported lives on.
func (v *result) logged(l *lock.Lock, lived time.Duration) logrus.Fields {
	fields := logrus.Fields{"release": l.Release.String(), "object": v.ID.String(), "operation": v.operation}
	if lived > 0 {
		fields["lived"] = lived.Round(100 * time.Microsecond).String()
	}
	for name, value := range map[string]string{"manager": v.author.Manager,
		"paths": drift.Describe(v.found.Changes, named)} {
		if value != "" {
			fields[name] = value
		}
	}
	return fields
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

// recordDrift records the events of a drift. In a storm the counts in the status tell more than thousands of events,
// which would cost the API server more than the reverts.
func (rep *reporter) recordDrift(l *lock.Lock, v *result, on, of event) {
	rep.announcements.say(l.Key)
	if hr := rep.cached(l.Key); hr != nil && rep.eventBudget.TryAccept() {
		rep.say(objectReference(hr), on)
	}
	if v.Live != nil && rep.eventBudget.TryAccept() {
		rep.say(v.Live, of)
	}
}

// event records an event on a HelmRelease, if this controller leads: a standby sees the same and would repeat it.
func (rep *reporter) event(hr *v1alpha1.HelmRelease, e event) {
	if hr == nil {
		return
	}
	rep.announcements.say(keyOf(hr))
	if rep.leading.Load() {
		rep.say(objectReference(hr), e)
	}
}

// say records an event. What it quotes of the cluster cannot move the cursor of who reads it, or pass for another line.
func (rep *reporter) say(about runtime.Object, e event) {
	rep.Events.Event(about, e.kind, e.reason, cut(report.Line(e.text), maxEventBytes))
}

// maxEventBytes bounds the message of an event, as the newer of the two event APIs does.
const maxEventBytes = 1024

func (rep *reporter) announceLocked(hr *v1alpha1.HelmRelease, l *lock.Lock, objects int) {
	rep.announcements.hold(l.Key, func() { rep.event(hr, lockedEvent(l, objects)) })
	rep.Log.WithFields(logrus.Fields{"release": l.Release.String(), "revision": l.Record.Revision,
		"objects": objects}).Info("locked")
}

func (rep *reporter) announceUnlocked(hr *v1alpha1.HelmRelease, before, now lock.Decision) {
	if before.Reason == now.Reason && before.State == now.State {
		return
	}
	rep.Log.WithField("release", releaseKey(hr).String()).Info("not locked: " + now.Message)
	rep.event(hr, unlockedEvent(now))
}

// announceProblem records why a release that should be locked is not, where a user has to act on it.
func (rep *reporter) announceProblem(hr *v1alpha1.HelmRelease, p problem) {
	e, ok := problemEvent(p)
	if !ok {
		return
	}
	if hr != nil {
		rep.Log.WithField("release", releaseKey(hr).String()).Warn("not locked: " + p.message)
	}
	rep.event(hr, e)
}

func (rep *reporter) announceTrouble(hr *v1alpha1.HelmRelease, ld *loaded, conflicts []lock.Conflict) {
	for _, e := range conflictEvents(conflicts) {
		rep.event(hr, e)
	}
	if e, ok := waitingEvent(ld); ok {
		rep.event(hr, e)
	}
	for _, s := range ld.skipped {
		rep.Log.WithField("release", releaseKey(hr).String()).Infof("not locked: %s %s (document %d): %s", s.Kind,
			s.Name, s.Doc, s.Reason)
	}
	if d := ld.denials; len(d.objects) > 0 {
		rep.Log.WithField("release", releaseKey(hr).String()).Warn(d.message())
		rep.event(hr, deniedEvent(d))
	}
}

func (rep *reporter) announceFight(l *lock.Lock, v *result) {
	rep.entries.update(l.Key, func(*entry) { rep.Metrics.Contended(l.Release, v.ID.Kind) })
	rep.tellFight(l, v)
	rep.Log.WithFields(logrus.Fields{"release": l.Release.String(), "object": v.ID.String(),
		"manager": v.author.Manager}).Warn("something keeps changing the object back; reverts of it slow down")
	rep.event(rep.cached(l.Key), fightEvent(v))
}

// announceDeletion records that the deletion of an object is pending, on the HelmRelease and on the object.
func (rep *reporter) announceDeletion(l *lock.Lock, w *lock.Work, live *unstructured.Unstructured, p *lock.Problem) {
	if !rep.leading.Load() {
		return
	}
	rep.Log.WithField("release", l.Release.String()).WithField("object", w.ID.String()).Warn(p.Message)
	on, of := deletionEvents(l, w.ID, p)
	if rep.eventBudget.TryAccept() {
		rep.event(rep.cached(l.Key), on)
	}
	if rep.eventBudget.TryAccept() {
		rep.say(live, of)
	}
}

// overtaken records what became of a write that Helm's work overtook.
func (rep *reporter) overtaken(w lock.Write, e event) {
	rep.Log.WithField("release", w.Record.Key.String()).Info(e.text)
	rep.event(rep.cached(w.Key), e)
}
