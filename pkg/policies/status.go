package policies

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/policy"
	"github.com/rancher/helm-locker/pkg/report"
)

// policyStatusDelay is the least time between two writes of the status of a policy: counts change with every revert.
const policyStatusDelay = time.Second

// maxEvent bounds the message of an event, as the newer of the two event APIs does.
const maxEvent = 1024

// report records the effect of a plan, and writes the status of the policy if it has changed. It returns the time of
// the next plan without an event; zero for never.
func (w *worker) report(s policy.Summary, e *effect) (again time.Time) {
	now := w.Clock.Now()
	w.announcePolicy(s.Policy, e)
	again = s.Again
	if e.pending && e.err == nil {
		again = now.Add(policyDelay) // the next plan finds what is left to do
		if s.Policy.Status.ObservedGeneration == s.Policy.Generation {
			return again // most is done by then, and a policy is not unready for every release that comes
		}
	}
	shard := ""
	if w.shard != nil {
		shard = w.shard.String()
	}
	status := s.Status(e.progress(), shard, now)
	for i := range status.Conditions {
		status.Conditions[i].Message = plain.Line(status.Conditions[i].Message)
	}
	last := w.lastReported[s.Policy.Name]
	if last.uid != s.Policy.UID {
		last = reportedPolicy{uid: s.Policy.UID, status: s.Policy.Status}
	}
	if equality.Semantic.DeepEqual(s.Policy.Status, status) {
		return again
	}
	if next := last.written.Add(policyStatusDelay); now.Before(next) {
		return earlier(again, next)
	}
	if err := w.writePolicyStatus(s.Policy, status); err != nil {
		w.Log.WithField("policy", s.Policy.Name).Warnf("status: %v; trying again", err)
		return now.Add(policyStatusDelay)
	}
	w.announceStatus(s.Policy, last.status, status)
	w.lastReported[s.Policy.Name] = reportedPolicy{uid: s.Policy.UID, status: status, written: now}
	return again
}

// writePolicyStatus replaces the status of a policy. The uid is tested, lest a policy of the same name be given the
// status of its predecessor.
func (w *worker) writePolicyStatus(p *v1alpha1.HelmReleasePolicy, status v1alpha1.HelmReleasePolicyStatus) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": p.UID},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	_, err = w.ownWrites.policies.write(p.Name, w.Clock, func() (*v1alpha1.HelmReleasePolicy, error) {
		return w.policies.Patch(p.Namespace, p.Name, types.JSONPatchType, patch, "status")
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// announcePolicy reports the writes for a policy, by the log and events.
func (w *worker) announcePolicy(p *v1alpha1.HelmReleasePolicy, e *effect) {
	for _, ev := range appliedEvents(e) {
		w.Log.WithField("policy", p.Name).Info(ev.text)
		w.recordEvent(p, ev)
	}
}

// announceStatus reports important changes in the status of a policy, by the log and events.
func (w *worker) announceStatus(p *v1alpha1.HelmReleasePolicy, before, now v1alpha1.HelmReleasePolicyStatus) {
	was := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReady)
	ready := meta.FindStatusCondition(now.Conditions, v1alpha1.ConditionReady)
	if ready.Status == metav1.ConditionFalse && (was == nil || was.Reason != ready.Reason) {
		if ev, ok := policyProblemEvent(ready); ok {
			w.Log.WithField("policy", p.Name).Warn(ready.Message)
			w.recordEvent(p, ev)
		}
	}
	r, last := now.Rollout, before.Rollout
	switch {
	case r == nil:
	case r.State == v1alpha1.RolloutComplete && last != nil && last.State != v1alpha1.RolloutComplete:
		w.recordEvent(p, rolloutCompleteEvent(r))
	case r.State == v1alpha1.RolloutProgressing && r.Held > 0 && (last == nil || last.Held == 0):
		w.recordEvent(p, rolloutHeldEvent(r))
	}
}

func (w *worker) recordEvent(p *v1alpha1.HelmReleasePolicy, e event) {
	ref := &v1alpha1.HelmReleasePolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.PolicyKind},
	}
	ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = p.Namespace, p.Name, p.UID, p.ResourceVersion
	w.events.Event(ref, e.kind, e.reason, report.Cut(plain.Line(e.text), maxEvent))
}

// measure sets the metrics of the policies that this process handles; a standby has none.
func (w *worker) measure(plan policy.Plan) {
	states := map[string]policyState{}
	for _, s := range plan.Policies {
		if !w.leading.Load() || !w.mine(s.Policy) {
			continue
		}
		c := s.Counts
		states[s.Policy.Name] = policyState{
			ready: meta.IsStatusConditionTrue(s.Policy.Status.Conditions, v1alpha1.ConditionReady),
			releases: map[string]int{"matched": c.Matched, "made": c.Made, "locked": c.Locked, "drifted": c.Drifted,
				"hand_written": c.HandWritten, "other_policy": c.OtherPolicy, "over_bound": c.OverBound,
				"operator_namespace": c.OperatorNamespace, "name_taken": c.NameTaken, "held": heldOf(s.Rollout)},
		}
	}
	w.metrics.set(states)
}

// heldOf returns the number of releases that a rollout holds, 0 without one.
func heldOf(r *v1alpha1.RolloutStatus) int {
	if r == nil {
		return 0
	}
	return r.Held
}

// mine reports whether this process handles a policy: it is in its shard.
func (w *worker) mine(p *v1alpha1.HelmReleasePolicy) bool {
	return w.shard == nil || w.shard.Matches(labels.Set(p.Labels))
}
