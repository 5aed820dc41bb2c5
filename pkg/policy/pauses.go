package policy

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// PauseShortened is Result.Why of an update that brings the end of a pause forward.
const PauseShortened = "a pause ends earlier, by spec.pauses.maxDuration"

// shorten brings the ends of a HelmRelease's pauses forward to the latest one that the policy allows now, and reports
// whether it changed any. Pauses of the template, which the policy's author wrote, stay. An allowed end stays as it is
// later on, as the latest one moves with the time.
func shorten(p *v1alpha1.HelmReleasePolicy, hr *v1alpha1.HelmRelease, now time.Time) (changed bool) {
	latest := p.Spec.Pauses.Latest(now)
	if latest == nil {
		return false
	}
	later := func(until *metav1.Time) bool { return until == nil || until.After(latest.Time) }
	templates := splitFields(hr.Annotations[v1alpha1.PolicyFieldsAnnotation])
	paused := hr.Spec.Suspend || hr.Spec.SuspendUntil != nil
	if paused && !slices.Contains(templates, suspendField) && (hr.Spec.Suspend || later(hr.Spec.SuspendUntil)) {
		hr.Spec.Suspend, hr.Spec.SuspendUntil, changed = false, latest, true
	}
	if slices.Contains(templates, ignoreField) {
		return changed
	}
	for i := range hr.Spec.Ignore {
		if rule := &hr.Spec.Ignore[i]; !isForGood(*rule) && later(rule.Until) {
			rule.Until, changed = latest, true
		}
	}
	return changed
}
