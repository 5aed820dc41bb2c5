package policy

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// ready returns the condition Ready of the only policy of a plan after it was carried out.
func ready(plan Plan) metav1.Condition {
	status := plan.Policies[0].Status(Progress{}, "", noon)
	return *meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
}

// A release record must not get the operator's rights unless the policy accepts that by name.
func TestHostile_NoPolicyLendsTheOperatorsRightsUnasked(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(*v1alpha1.HelmReleasePolicy)
		impersonate bool
		existing    func(*v1alpha1.HelmRelease) // nil for a new release
		mode        v1alpha1.Mode
		account     string
		reason      string
	}{
		"new": {mode: v1alpha1.ModeDetect, reason: v1alpha1.ReasonAcceptanceRequired},
		"new, in mode Detect": {
			change: func(p *v1alpha1.HelmReleasePolicy) { p.Spec.Template.Spec.Mode = v1alpha1.ModeDetect },
			mode:   v1alpha1.ModeDetect, reason: v1alpha1.ReasonApplied},
		"new, accepted": {
			change: func(p *v1alpha1.HelmReleasePolicy) { p.Spec.AcceptRecordsOfAnyone = true },
			mode:   v1alpha1.ModeEnforce, reason: v1alpha1.ReasonApplied},
		"new, with an account": {
			change: func(p *v1alpha1.HelmReleasePolicy) { p.Spec.Template.Spec.ServiceAccountName = "deployer" },
			mode:   v1alpha1.ModeEnforce, account: "deployer", reason: v1alpha1.ReasonApplied},
		"new, and the operator impersonates": {impersonate: true, mode: v1alpha1.ModeEnforce, reason: v1alpha1.ReasonApplied},
		"new, in a rollout": {
			change: func(p *v1alpha1.HelmReleasePolicy) { p.Spec.Rollout = &v1alpha1.Rollout{} },
			mode:   v1alpha1.ModeDetect, reason: v1alpha1.ReasonAcceptanceRequired},
		"watched, in a rollout": {
			change:   func(p *v1alpha1.HelmReleasePolicy) { p.Spec.Rollout = &v1alpha1.Rollout{} },
			existing: func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect },
			mode:     v1alpha1.ModeDetect, reason: v1alpha1.ReasonAcceptanceRequired},
		"watched": {
			existing: func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect },
			mode:     v1alpha1.ModeDetect, reason: v1alpha1.ReasonAcceptanceRequired},
		"enforced": {
			existing: func(*v1alpha1.HelmRelease) {},
			mode:     v1alpha1.ModeEnforce, reason: v1alpha1.ReasonAcceptanceRequired},
		"enforced with the rights of an account": {
			existing: func(hr *v1alpha1.HelmRelease) { hr.Spec.ServiceAccountName = "deployer" },
			mode:     v1alpha1.ModeEnforce, account: "deployer", reason: v1alpha1.ReasonAcceptanceRequired},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPolicy("every", "*")
			in := Input{Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{p}, Releases: releases("apps/shop"),
				Bounded: tc.impersonate, Now: noon}
			if tc.existing != nil {
				in.HelmReleases = carriedOut(in, Make(in)) // accepted then
				hr := in.HelmReleases[0]
				tc.existing(hr)
				if hr.Spec.Mode == v1alpha1.ModeDetect {
					hr.Status.Conditions = []metav1.Condition{
						{Type: v1alpha1.ConditionLocked, Status: metav1.ConditionFalse,
							Reason: v1alpha1.ReasonDetectOnly},
						{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue},
						{Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionFalse}}
				}
			}
			p.Spec.AcceptRecordsOfAnyone = false
			if tc.change != nil {
				tc.change(p)
			}
			for range 2 {
				in.HelmReleases = carriedOut(in, Make(in))
				in.Now = in.Now.Add(time.Hour)
			}
			got := in.HelmReleases[0].Spec
			check.That(t, got.Mode == tc.mode && got.ServiceAccountName == tc.account,
				"mode %s with account %q, want %s with %q", got.Mode, got.ServiceAccountName, tc.mode, tc.account)
			plan := Make(in)
			applied := tc.reason == v1alpha1.ReasonApplied
			c := ready(plan)
			check.That(t, c.Reason == tc.reason && (c.Status == metav1.ConditionTrue) == applied, "Ready is %s, %s: %s",
				c.Status, c.Reason, c.Message)
			// A rollout reports that it waits for an acceptance.
			if r := plan.Policies[0].Rollout; r != nil && (r.State != v1alpha1.RolloutStopped ||
				!strings.Contains(r.Message, "acceptRecordsOfAnyone")) {
				t.Errorf("the rollout is %+v", r)
			}
		})
	}
}

func TestRightsNameWhoGetsThem(t *testing.T) {
	p := newPolicy("every", "*")
	says := func(parts ...string) {
		t.Helper()
		for _, part := range parts {
			got := Rights(p)
			check.That(t, strings.Contains(got, part), "%q does not say %q", got, part)
		}
	}
	says("unless the operator runs with --impersonate", "the operator's own rights", "write a release record",
		"accepts that")
	p.Spec.AcceptRecordsOfAnyone = false
	says("no release is enforced", "set spec.template.spec.serviceAccountName", "acceptRecordsOfAnyone: true")
	p.Spec.Template.Spec.ServiceAccountName = "deployer"
	says(`with the rights of ServiceAccount "deployer" in the namespace of each`)
	p.Spec.Template.Spec.Mode = v1alpha1.ModeDetect
	says("writes to no object")
}
