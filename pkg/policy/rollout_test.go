package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestRollout(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.Rollout = &v1alpha1.Rollout{BatchSize: 2, Interval: metav1.Duration{Duration: time.Hour}}
	p.Spec.Template.Spec.Guard = v1alpha1.GuardDeny
	p.Status.ObservedGeneration = 1
	in := inputOf(p, "a/1", "a/2", "a/3", "a/4", "a/5")
	step := func(what string, enforced int, state v1alpha1.RolloutState) Summary {
		t.Helper()
		plan := Make(in)
		in.HelmReleases = carriedOut(in, plan)
		s := plan.Policies[0]
		got := 0
		for _, hr := range in.HelmReleases {
			if hr.Spec.Mode == v1alpha1.ModeEnforce {
				got++
			} else if hr.Spec.Guard != v1alpha1.GuardWarn {
				t.Errorf("%s: a release in mode Detect has guard %s", what, hr.Spec.Guard)
			}
		}
		check.That(t,
			got == enforced && s.Rollout.State == state && s.Rollout.Enforced+s.Rollout.Waiting == len(in.HelmReleases),
			"%s: %d enforced, want %d; %+v", what, got, enforced, s.Rollout)
		return s
	}
	step("made", 0, v1alpha1.RolloutProgressing)
	first := step("the first batch", 2, v1alpha1.RolloutProgressing)
	check.That(t, first.Again.Equal(noon.Add(time.Hour)) && first.Rollout.NextBatch.Time.Equal(first.Again),
		"the next batch is at %s, %s", first.Again, first.Rollout.NextBatch)
	in.Now = noon.Add(time.Hour - time.Second)
	step("before its time", 2, v1alpha1.RolloutProgressing)

	// A moved release is uninstalled: no other one moves for it, given the status.
	p.Status.Rollout = first.Rollout
	kept := in.HelmReleases
	in.HelmReleases, in.Releases = slices.DeleteFunc(slices.Clone(kept), func(hr *v1alpha1.HelmRelease) bool {
		return hr.Name == "a.1"
	}), in.Releases[1:]
	step("one that moved is uninstalled", 1, v1alpha1.RolloutProgressing)

	in.Now = noon.Add(time.Hour)
	step("the second batch", 3, v1alpha1.RolloutProgressing)
	contended := func(status metav1.ConditionStatus) {
		for _, hr := range in.HelmReleases {
			if hr.Name == "a.2" {
				hr.Status.Conditions = append(hr.Status.Conditions[:3:3], metav1.Condition{
					Type: v1alpha1.ConditionContended, Status: status})
			}
		}
	}
	in.Now = noon.Add(2 * time.Hour)
	contended(metav1.ConditionTrue)
	s := step("a fight", 3, v1alpha1.RolloutStopped)
	check.That(t, strings.Contains(s.Rollout.Message, "a/2"), "%v", s.Rollout.Message)
	p.Spec.Rollout.MaxContended = 1
	step("fights that are allowed", 4, v1alpha1.RolloutComplete)
	contended(metav1.ConditionFalse)

	// A moved release is restored after an edit, and stays when the policy moves nothing more.
	in.HelmReleases[0].Spec.Mode = v1alpha1.ModeDetect
	step("an edit", 4, v1alpha1.RolloutComplete)
	p.Spec.Template.Spec.Mode, p.Spec.Template.Spec.Guard = v1alpha1.ModeDetect, v1alpha1.GuardWarn
	plan := Make(in)
	in.HelmReleases = carriedOut(in, plan)
	for _, hr := range in.HelmReleases {
		_, since := enforcedSince(hr)
		check.That(t, !since && hr.Spec.Mode == v1alpha1.ModeDetect, "in mode Detect: %+v", hr)
	}
	check.That(t, plan.Policies[0].Rollout == nil, "a rollout in mode Detect")
}

func TestARolloutThatIsAddedMovesNothingBack(t *testing.T) {
	p := newPolicy("every", "*")
	in := inputOf(p, "a/1", "a/2")
	in.HelmReleases = carriedOut(in, Make(in))
	p.Spec.Rollout = &v1alpha1.Rollout{}
	plan := Make(in)
	if got := show(plan); got != "" || plan.Policies[0].Rollout.State != v1alpha1.RolloutComplete {
		t.Errorf("%s %+v", got, plan.Policies[0].Rollout)
	}
}

// A release whose account may not change its objects is neither compared nor protected, whatever its mode.
func TestHostile_ARolloutDoesNotCountWhatIsNotProtected(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.Rollout = &v1alpha1.Rollout{}
	in := inputOf(p, "a/1")
	in.HelmReleases = carriedOut(in, Make(in))
	set := func(kind string, status metav1.ConditionStatus, reason string) {
		meta.SetStatusCondition(&in.HelmReleases[0].Status.Conditions,
			metav1.Condition{Type: kind, Status: status, Reason: reason})
	}
	for reason, drifted := range map[string]metav1.ConditionStatus{
		v1alpha1.ReasonWaitingForKind: metav1.ConditionUnknown, // no other object differs
		v1alpha1.ReasonForbidden:      metav1.ConditionTrue,    // another one does
	} {
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason)
		set(v1alpha1.ConditionDrifted, drifted, v1alpha1.ReasonNotCompared)
		s := Make(in).Policies[0]
		check.That(t,
			s.Rollout.State == v1alpha1.RolloutProgressing && s.Rollout.Waiting == 1 &&
				strings.Contains(s.Rollout.Message, "a/1"), "Drifted %s: %+v", drifted, s.Rollout)
	}
	set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonDetectOnly)
	set(v1alpha1.ConditionDrifted, metav1.ConditionFalse, v1alpha1.ReasonNoDrift)
	in.HelmReleases = carriedOut(in, Make(in))
	s := Make(in).Policies[0]
	check.That(t, s.Rollout.State == v1alpha1.RolloutComplete, "when all is compared: %+v", s.Rollout)
	set(v1alpha1.ConditionLocked, metav1.ConditionFalse, v1alpha1.ReasonForbidden)
	s = Make(in).Policies[0]
	check.That(t,
		s.Rollout.State == v1alpha1.RolloutStopped && s.Counts.Locked == 0 &&
			strings.Contains(s.Rollout.Message, "rights are missing to protect all objects of a/1"),
		"when rights are taken away: %+v, %+v", s.Rollout, s.Counts)
}

func TestRevertsThatFailStopARollout(t *testing.T) {
	p := newPolicy("every", "*")
	in := inputOf(p, "a/1")
	in.HelmReleases = carriedOut(in, Make(in))
	meta.SetStatusCondition(&in.HelmReleases[0].Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRevertFailed})
	p.Spec.Rollout = &v1alpha1.Rollout{MaxContended: 7}
	in.Releases = append(in.Releases, newRelease("a/2"))
	s := Make(in).Policies[0]
	check.That(t, s.Rollout.State == v1alpha1.RolloutStopped, "%+v", s.Rollout)
}
