package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestIsLockedWithItsGuard(t *testing.T) {
	hr := helmRelease("web", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Guard = v1alpha1.GuardDeny
		hr.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionTrue, v1alpha1.ReasonLocked, "")}
	})
	done, waiting := isLocked(hr)
	check.That(t, !done && waiting == "the guard", "without a condition: %t, %q", done, waiting)
	hr.Status.Conditions = append(hr.Status.Conditions,
		condition("Guarded", metav1.ConditionFalse, v1alpha1.ReasonGuardCertificate, "no certificate"))
	done, waiting = isLocked(hr)
	check.That(t, !done && waiting == "the guard: NoCertificate: no certificate", "without a guard: %t, %q", done, waiting)
	hr.Status.Conditions[1].Status = metav1.ConditionTrue
	done, waiting = isLocked(hr)
	check.That(t, done, "with its guard it waits for %q", waiting)
}

// A HelmRelease that was created just now is no error while its operator runs.
func TestCheckOfANewHelmRelease(t *testing.T) {
	hr := helmRelease("web", func(hr *v1alpha1.HelmRelease) {
		hr.CreationTimestamp, hr.Status = metav1.NewTime(noon.Add(-time.Second)), v1alpha1.HelmReleaseStatus{}
	})
	locks := []*v1alpha1.HelmRelease{hr}
	here := types.NamespacedName{Namespace: hr.Namespace, Name: "o"}
	elsewhere := types.NamespacedName{Namespace: "elsewhere", Name: "o"}
	for name, test := range map[string]struct {
		running types.NamespacedName
		age     time.Duration
		notes   int
	}{
		"new":              {here, 0, 1},
		"another operator": {elsewhere, 0, 0},
		"not new":          {here, time.Minute, 0},
	} {
		rest, notes := withoutNew(locks, []types.NamespacedName{test.running}, noon.Add(test.age))
		check.That(t, len(notes) == test.notes && len(rest) == 1-test.notes, "%s: %d notes, %d others", name,
			len(notes), len(rest))
	}
}

// A policy that matches nothing protects nothing.
func TestCheckOfAPolicyThatMatchesNothing(t *testing.T) {
	p := &v1alpha1.HelmReleasePolicy{}
	p.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Followed", "")}
	f := policyFinding(p)
	check.That(t, f.Level == levelWarning && f.Message == "it matches no release", "%+v", f)
	p.Status.Releases.Matched = 1
	check.That(t, policyFinding(p).Level == levelOK, "%+v", policyFinding(p))
}
