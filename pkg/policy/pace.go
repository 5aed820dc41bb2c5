package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// Defaults of spec.rollout.
const (
	defaultBatchSize = 10
	defaultInterval  = time.Hour
)

// Pace describes when the releases of a policy are enforced; empty in mode Detect.
func Pace(p *v1alpha1.HelmReleasePolicy) string {
	r := p.Spec.Rollout
	switch {
	case modeOf(p) == v1alpha1.ModeDetect:
		return ""
	case r == nil:
		return "at once, which reverts their drift; with spec.rollout a few at a time, and those with drift are held"
	}
	text := fmt.Sprintf("%d within %s, those without drift first; ", batchSize(r), duration.HumanDuration(interval(r)))
	if r.Drifted == v1alpha1.DriftedRevert {
		return text + "those with drift last, which reverts it"
	}
	text += "those with drift are held until it is over or a user agrees to the revert (helm-locker enforce)"
	if r.HoldFor != nil {
		text += ", or for " + duration.HumanDuration(r.HoldFor.Duration)
	}
	return text
}

// rolls reports whether a policy moves releases from mode Detect to Enforce a few at a time.
func rolls(p *v1alpha1.HelmReleasePolicy) bool {
	return p.Spec.Rollout != nil && modeOf(p) == v1alpha1.ModeEnforce
}

// enforced reports whether a HelmRelease has been moved to mode Enforce, also when a user set it to Detect since.
func enforced(hr *v1alpha1.HelmRelease) bool {
	if hr == nil {
		return false
	}
	_, moved := enforcedSince(hr)
	return moved || hr.Spec.Mode == v1alpha1.ModeEnforce
}

// watched reports whether a HelmRelease in mode Detect has compared all its objects.
func watched(hr *v1alpha1.HelmRelease) bool {
	if hr == nil || hr.Status.ObservedGeneration != hr.Generation {
		return false
	}
	locked := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionLocked)
	ready := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionReady)
	drifted := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionDrifted)
	if locked == nil || ready == nil || drifted == nil || drifted.Status == metav1.ConditionUnknown {
		return false
	}
	// Beside an object with a difference there can be others that are not compared.
	return locked.Reason == v1alpha1.ReasonDetectOnly && ready.Reason != v1alpha1.ReasonForbidden &&
		ready.Reason != v1alpha1.ReasonConflict && ready.Reason != v1alpha1.ReasonLocking
}

func batchSize(r *v1alpha1.Rollout) int {
	if r.BatchSize < 1 {
		return defaultBatchSize
	}
	return r.BatchSize
}

func interval(r *v1alpha1.Rollout) time.Duration {
	if r.Interval.Duration <= 0 {
		return defaultInterval
	}
	return r.Interval.Duration
}

// wholeSecond rounds a time up to the resolution of a status or an annotation.
func wholeSecond(t time.Time) time.Time {
	whole := t.UTC().Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return whole
}

// earlier returns the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// formatTime returns a time as an annotation has it.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// joined joins the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}
