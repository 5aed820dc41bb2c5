package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The filter has the judgement of the table below the releases: mode Detect is wanted, and so is waiting in a rollout.
func TestStateAttentionLeavesOutReleasesThatWait(t *testing.T) {
	detect := func(change func(*v1alpha1.HelmRelease)) *v1alpha1.HelmRelease {
		return helmRelease("web", func(hr *v1alpha1.HelmRelease) {
			lockedRelease(hr)
			hr.Spec.Mode = v1alpha1.ModeDetect
			hr.Labels = map[string]string{v1alpha1.PolicyLabel: "web"}
			hr.Status.Conditions = []metav1.Condition{
				condition("Ready", metav1.ConditionTrue, v1alpha1.ReasonDetectOnly, "4 objects watched"),
				condition("Locked", metav1.ConditionFalse, v1alpha1.ReasonDetectOnly, "mode Detect")}
			change(hr)
		})
	}
	locked := func(change func(*v1alpha1.HelmRelease)) *v1alpha1.HelmRelease {
		return helmRelease("web", func(hr *v1alpha1.HelmRelease) { lockedRelease(hr); change(hr) })
	}
	nothing := func(*v1alpha1.HelmRelease) {}
	suspended := func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Suspend = true
		hr.Status.Conditions[0].Reason = v1alpha1.ReasonSuspended
		hr.Status.Conditions[1] = condition("Locked", metav1.ConditionFalse, v1alpha1.ReasonSuspended, "")
	}
	for name, tc := range map[string]struct {
		of   *v1alpha1.HelmRelease
		want bool
	}{
		"a locked release":                  {locked(nothing), false},
		"a release that waits in a rollout": {detect(nothing), false},
		"one that its rollout holds": {detect(func(hr *v1alpha1.HelmRelease) {
			hr.Annotations = map[string]string{v1alpha1.HeldSinceAnnotation: "2026-01-02T11:00:00Z"}
		}), true},
		"drift that is only watched": {detect(func(hr *v1alpha1.HelmRelease) {
			hr.Status.Objects.Drifted = 1
			hr.Status.Conditions[0] = condition("Ready", metav1.ConditionFalse, v1alpha1.ReasonDriftDetected, "web: a")
		}), true},
		"a contended release":      {locked(func(hr *v1alpha1.HelmRelease) { hr.Status.Objects.Contended = 1 }), true},
		"a new suspension":         {locked(suspended), false},
		"one no operator takes up": {helmRelease("web", nil), true},
		"one that has just been made": {helmRelease("web", func(hr *v1alpha1.HelmRelease) {
			hr.CreationTimestamp = metav1.NewTime(noon.Add(-time.Second))
		}), false},
	} {
		check.Equal(t, (statusQuery{state: stateAttention, now: noon}).isIn(tc.of), tc.want, "%s: listed", name)
	}
}

func TestStatusListsWhatNeedsAttention(t *testing.T) {
	suspended := func(reason string, since time.Duration) *v1alpha1.HelmRelease {
		return helmRelease("web", func(hr *v1alpha1.HelmRelease) {
			hr.Spec.Suspend = reason == v1alpha1.ReasonSuspended
			hr.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionTrue, reason, ""),
				condition("Locked", metav1.ConditionFalse, reason, "")}
			hr.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-90 * 24 * time.Hour))
			hr.Status.Conditions[1].LastTransitionTime = metav1.NewTime(noon.Add(-since))
		})
	}
	stalled := helmRelease("web", func(hr *v1alpha1.HelmRelease) {
		hr.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionFalse, "Conflict", "two of them"),
			condition("Stalled", metav1.ConditionTrue, "Conflict", "two of them")}
	})
	notInstalled := helmRelease("web", func(hr *v1alpha1.HelmRelease) {
		hr.Status.Conditions = []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, v1alpha1.ReasonSecretNotFound, "no record")}
	})
	fresh := helmRelease("web", func(hr *v1alpha1.HelmRelease) {
		hr.CreationTimestamp = metav1.NewTime(noon.Add(-time.Second))
	})
	for name, tc := range map[string]struct {
		of   *v1alpha1.HelmRelease
		want string
	}{
		"what is locked":                       {helmRelease("web", lockedRelease), ""},
		"what stalls":                          {stalled, "Conflict: two of them"},
		"what is not installed":                {notInstalled, "SecretNotFound: no record"},
		"what no operator has taken up":        {helmRelease("web", nil), "no operator has taken it up"},
		"but not what was made a moment ago":   {fresh, ""},
		"a suspension that lasts for a day":    {suspended("Suspended", 72*time.Hour), "suspended for 3d"},
		"but not one of an hour":               {suspended("Suspended", time.Hour), ""},
		"nor a window, which ends soon anyway": {suspended("InWindow", 23*time.Hour), ""},
	} {
		rows := attention([]*v1alpha1.HelmRelease{tc.of}, tableOptions{now: noon})
		check.That(t, (tc.want == "") == (len(rows) == 0) && (tc.want == "" || strings.Contains(rows[0][1], tc.want)),
			"%s: %q, want %q", name, rows, tc.want)
	}
	const advice = "install it with Helm, or end its lock: helm-locker unlock web -n apps"
	rows := attention([]*v1alpha1.HelmRelease{notInstalled}, tableOptions{now: noon})
	check.That(t, rows[0][2] == advice, "what to do: %q", rows)
	forbidden := helmRelease("web", func(hr *v1alpha1.HelmRelease) {
		hr.Status.Conditions = []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, v1alpha1.ReasonForbidden, "cannot get secrets"),
			condition("Stalled", metav1.ConditionTrue, v1alpha1.ReasonForbidden, "cannot get secrets")}
	})
	const permit = "let the account do what the release takes, which this prints: helm-locker rbac web -n apps"
	rows = attention([]*v1alpha1.HelmRelease{forbidden}, tableOptions{now: noon})
	check.That(t, rows[0][2] == permit, "what to do: %q", rows)
	many := attention(slices.Repeat([]*v1alpha1.HelmRelease{stalled}, 15), tableOptions{now: noon})
	last := many[len(many)-1]
	check.That(t, len(many) == 11 && last[0] == "and 5 more", "of many: %q", many)
	in := tableOptions{now: noon, contexts: contextMap{notInstalled: "prod-1"}}
	of := attention([]*v1alpha1.HelmRelease{notInstalled}, in)[0]
	check.That(t,
		of[0] == "prod-1" && of[1] == "apps/web" &&
			strings.HasSuffix(of[3], ": helm-locker --context prod-1 unlock web -n apps"), "of a context: %q", of)
}
