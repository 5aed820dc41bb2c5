package cli

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/policy"
)

// policyFindings reports HelmReleasePolicies without an operator, with errors, or with enforcement by the operator's
// own rights: in some namespaces, or in all.
func policyFindings(ctx context.Context, c *connection, namespaces ...string) []finding {
	const subject = "HelmReleasePolicies"
	all, err := c.helmReleases("", false).listPolicies(ctx)
	if err != nil {
		return []finding{unreadable(subject, err)}
	}
	if len(namespaces) > 0 {
		all = slices.DeleteFunc(all, func(p *v1alpha1.HelmReleasePolicy) bool {
			return !slices.Contains(namespaces, p.Namespace)
		})
	}
	found := pauseFindings(ctx, c, all)
	followed := 0
	for _, p := range all {
		f := policyFinding(p)
		if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady) {
			followed++
		}
		if f.Message != "" {
			found = append(found, f)
		}
	}
	if followed == 0 {
		return found
	}
	ok := finding{levelOK, subject, fmt.Sprintf("%d of them followed", followed), ""}
	return slices.Concat([]finding{ok}, found)
}

func policyFinding(p *v1alpha1.HelmReleasePolicy) finding {
	f := finding{Level: levelOK, Subject: fmt.Sprintf("HelmReleasePolicy %s/%s", p.Namespace, p.Name)}
	switch ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); {
	case ready == nil:
		f.Level, f.Message = levelError, "it is not followed"
		f.Advice = command.Program + " policies follows those of its own namespace (policies.enabled in the chart): move it " +
			"there, or run that process in namespace " + p.Namespace
	case ready.Status != metav1.ConditionTrue:
		f.Level, f.Message = levelWarning, ready.Reason+": "+ready.Message
		if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled) {
			f.Level = levelError
		}
	case p.Status.Releases.Matched == 0:
		f.Level, f.Message = levelWarning, "it matches no release"
		f.Advice = "compare spec.match with the namespaces and labels of the releases: helm list -A"
	case p.Status.Rollout != nil && p.Status.Rollout.Held > 0:
		f.Level, f.Message = levelNote, "its rollout waits: "+p.Status.Rollout.Message
	case policy.OwnRights(p) && p.Spec.AcceptRecordsOfAnyone:
		f.Level, f.Message = levelNote, policy.Rights(p)
	}
	return f
}
