package controller

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if reason, ok := driftEvent(action); ok {
		rep.driftEvents(l, v, reason, lived)
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

func driftEvent(action v1alpha1.DriftAction) (string, bool) {
	switch action {
	case v1alpha1.DriftActionReverted:
		return v1alpha1.EventReasonReverted, true
	case v1alpha1.DriftActionRecreated:
		return v1alpha1.EventReasonRecreated, true
	case v1alpha1.DriftActionReplaced:
		return v1alpha1.EventReasonReplaced, true
	case v1alpha1.DriftActionPruned:
		return v1alpha1.EventReasonPruned, true
	case v1alpha1.DriftActionReported:
		return v1alpha1.EventReasonDrifted, true
	}
	return "", false
}

// driftEvents records an event on the HelmRelease and one on the object.
func (rep *reporter) driftEvents(l *lock.Lock, v *result, reason string, lived time.Duration) {
	rep.announcements.say(l.Key)
	kind := corev1.EventTypeNormal
	suffix := fmt.Sprintf("; restored in %s", lived.Round(time.Millisecond))
	switch reason {
	case v1alpha1.EventReasonDrifted:
		kind, suffix = corev1.EventTypeWarning, "; not reverted (mode Detect)"
	case v1alpha1.EventReasonReplaced:
		suffix = fmt.Sprintf("; deleted and created anew in %s because the field is immutable",
			lived.Round(time.Millisecond))
	case v1alpha1.EventReasonPruned:
		suffix = "; deleted"
	}
	// In a storm the counts in the status tell more than thousands of events, which would cost the API server more
	// than the reverts.
	if hr := rep.cached(l.Key); hr != nil && rep.eventBudget.TryAccept() {
		rep.say(objectReference(hr), kind, reason, "%s: %s%s%s", v.ID, v.summary(), v.evidence(), suffix)
	}
	if v.Live != nil && rep.eventBudget.TryAccept() {
		rep.say(v.Live, kind, reason, "%s%s%s (Helm release %s is locked by HelmRelease %s)", v.summary(), v.evidence(),
			suffix, l.Release, l.Key)
	}
}

// event records an event on a HelmRelease, if this controller leads: a standby sees the same and would repeat it.
func (rep *reporter) event(hr *v1alpha1.HelmRelease, kind, reason, format string, args ...any) {
	if hr == nil {
		return
	}
	rep.announcements.say(keyOf(hr))
	if rep.leading.Load() {
		rep.say(objectReference(hr), kind, reason, format, args...)
	}
}

// say records an event. What it quotes of the cluster cannot move the cursor of who reads it, or pass for another line.
func (rep *reporter) say(about runtime.Object, kind, reason, format string, args ...any) {
	rep.Events.Event(about, kind, reason, cut(report.Line(fmt.Sprintf(format, args...)), maxEventBytes))
}

// maxEventBytes bounds the message of an event, as the newer of the two event APIs does.
const maxEventBytes = 1024

func (rep *reporter) announceLocked(hr *v1alpha1.HelmRelease, l *lock.Lock, objects int) {
	mode := "protected"
	if l.Detect {
		mode = "watched; drift is only reported"
	}
	rep.announcements.hold(l.Key, func() {
		rep.event(hr, corev1.EventTypeNormal, v1alpha1.EventReasonLocked, "revision %d of Helm release %s: %s %s",
			l.Record.Revision, l.Release, count(objects, "object"), mode)
	})
	rep.Log.WithFields(logrus.Fields{"release": l.Release.String(), "revision": l.Record.Revision,
		"objects": objects}).Info("locked")
}

func (rep *reporter) announceUnlocked(hr *v1alpha1.HelmRelease, before, now lock.Decision) {
	if before.Reason == now.Reason && before.State == now.State {
		return
	}
	log := rep.Log.WithField("release", releaseKey(hr).String())
	kind, reason := corev1.EventTypeNormal, v1alpha1.EventReasonUntracked
	switch now.Reason {
	case v1alpha1.ReasonSuspended:
		reason = v1alpha1.EventReasonSuspended
	case v1alpha1.ReasonTransitioning:
		reason = v1alpha1.EventReasonTransitioning
	case v1alpha1.ReasonStuckTransitioning:
		kind, reason = corev1.EventTypeWarning, v1alpha1.EventReasonStuckTransitioning
	case v1alpha1.ReasonDecodeFailed:
		kind, reason = corev1.EventTypeWarning, v1alpha1.EventReasonDecodeFailed
	}
	log.Info("not locked: " + now.Message)
	rep.event(hr, kind, reason, "%s", now.Message)
}

// announceProblem records why a release that should be locked is not, where somebody has to act on it.
func (rep *reporter) announceProblem(hr *v1alpha1.HelmRelease, p problem) {
	var reason string
	switch p.reason {
	case v1alpha1.ReasonConflict:
		reason = v1alpha1.EventReasonConflict
	case v1alpha1.ReasonDecodeFailed:
		reason = v1alpha1.EventReasonDecodeFailed
	case v1alpha1.ReasonManifestInvalid:
		reason = v1alpha1.EventReasonManifestInvalid
	case v1alpha1.ReasonForbidden:
		reason = v1alpha1.EventReasonForbidden
	case v1alpha1.ReasonNoServiceAccount:
		reason = v1alpha1.EventReasonNoServiceAccount
	default:
		return
	}
	if hr != nil {
		rep.Log.WithField("release", releaseKey(hr).String()).Warn("not locked: " + p.message)
	}
	rep.event(hr, corev1.EventTypeWarning, reason, "%s", p.message)
}

func (rep *reporter) announceTrouble(hr *v1alpha1.HelmRelease, ld *loaded, conflicts []lock.Conflict) {
	for _, cf := range conflicts[:min(named, len(conflicts))] {
		rep.event(hr, corev1.EventTypeWarning, v1alpha1.EventReasonConflict, "%s is locked by HelmRelease %s%s", cf.ID,
			cf.Owner, andMore(len(conflicts)-1))
	}
	kinds := make([]string, 0, len(ld.waiting))
	for gvk := range ld.waiting {
		kinds = append(kinds, gvk.Kind+"."+gvk.Group)
	}
	sort.Strings(kinds)
	if len(kinds) > 0 {
		rep.event(hr, corev1.EventTypeWarning, v1alpha1.EventReasonWaitingForKind,
			"not served by the API server yet: %s", strings.Join(kinds, ", "))
	}
	for _, s := range ld.skipped {
		rep.Log.WithField("release", releaseKey(hr).String()).Infof("not locked: %s %s (document %d): %s", s.Kind,
			s.Name, s.Doc, s.Reason)
	}
}

func (rep *reporter) announceDenied(hr *v1alpha1.HelmRelease, d denials) {
	if len(d.objects) == 0 {
		return
	}
	rep.Log.WithField("release", releaseKey(hr).String()).Warn(d.message())
	rep.event(hr, corev1.EventTypeWarning, v1alpha1.EventReasonForbidden, "%s", d.message())
}

func (rep *reporter) announceFight(l *lock.Lock, v *result) {
	rep.entries.update(l.Key, func(*entry) { rep.Metrics.Contended(l.Release, v.ID.Kind) })
	rep.tellFight(l, v)
	rep.Log.WithFields(logrus.Fields{"release": l.Release.String(), "object": v.ID.String(),
		"manager": v.author.Manager}).
		Warn("somebody keeps changing the object back; reverts of it slow down")
	rep.event(rep.cached(l.Key), corev1.EventTypeWarning, v1alpha1.EventReasonContended,
		"%s: %s%s, again and again; reverts of it slow down", v.ID, v.summary(), v.evidence())
}

func (rep *reporter) announceRefused(l *lock.Lock, v *result, p *lock.Problem) {
	rep.event(rep.cached(l.Key), corev1.EventTypeWarning, v1alpha1.EventReasonRevertFailed, "%s: %s%s; %s", v.ID,
		v.summary(), v.evidence(), p.Message)
}
