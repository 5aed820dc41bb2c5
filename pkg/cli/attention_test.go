package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

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
		if (tc.want == "") != (len(rows) == 0) || tc.want != "" && !strings.Contains(rows[0][1], tc.want) {
			t.Errorf("%s: %q, want %q", name, rows, tc.want)
		}
	}
	const advice = "install it with Helm, or end its lock: helm-locker unlock web -n apps"
	if rows := attention([]*v1alpha1.HelmRelease{notInstalled}, tableOptions{now: noon}); rows[0][2] != advice {
		t.Errorf("what to do: %q", rows)
	}
	forbidden := helmRelease("web", func(hr *v1alpha1.HelmRelease) {
		hr.Status.Conditions = []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, v1alpha1.ReasonForbidden, "cannot get secrets"),
			condition("Stalled", metav1.ConditionTrue, v1alpha1.ReasonForbidden, "cannot get secrets")}
	})
	const permit = "let the account do what the release takes, which this prints: helm-locker rbac web -n apps"
	if rows := attention([]*v1alpha1.HelmRelease{forbidden}, tableOptions{now: noon}); rows[0][2] != permit {
		t.Errorf("what to do: %q", rows)
	}
	many := attention(slices.Repeat([]*v1alpha1.HelmRelease{stalled}, 15), tableOptions{now: noon})
	if last := many[len(many)-1]; len(many) != 11 || last[0] != "and 5 more" {
		t.Errorf("of many: %q", many)
	}
	in := tableOptions{now: noon, contexts: contextMap{notInstalled: "prod-1"}}
	of := attention([]*v1alpha1.HelmRelease{notInstalled}, in)[0]
	if of[0] != "prod-1" || of[1] != "apps/web" || !strings.HasSuffix(of[3], ": helm-locker --context prod-1 unlock web -n apps") {
		t.Errorf("of a context: %q", of)
	}
}
