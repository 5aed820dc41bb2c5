package cli

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
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

// pauseFindings reports policies with rules for pauses that no ValidatingAdmissionPolicy checks.
func pauseFindings(ctx context.Context, c *connection, policies []*v1alpha1.HelmReleasePolicy) (found []finding) {
	for _, p := range policies {
		if p.Spec.Pauses == nil {
			continue
		}
		checked, err := checksPauses(ctx, c, p.Namespace)
		if err != nil {
			return append(found, unreadable("rules for pauses", err))
		}
		if !checked {
			found = append(found, finding{levelWarning, fmt.Sprintf("HelmReleasePolicy %s/%s", p.Namespace, p.Name),
				"the API server does not check its rules for pauses: no ValidatingAdmissionPolicy has it as a parameter",
				"set policies.checkPauses in the chart; Kubernetes 1.30 or newer is needed"})
		}
	}
	return found
}

// checksPauses reports whether a ValidatingAdmissionPolicy has the HelmReleasePolicies of a namespace as parameters.
func checksPauses(ctx context.Context, c *connection, namespace string) (bool, error) {
	of := func(resource string) ([]unstructured.Unstructured, error) {
		list, err := c.Dynamic.Resource(schema.GroupVersionResource{
			Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource,
		}).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource, err)
		}
		return list.Items, nil
	}
	policies, err := of("validatingadmissionpolicies")
	if err != nil {
		return false, err
	}
	ours := map[string]bool{}
	for i := range policies {
		kind, _, err := unstructured.NestedString(policies[i].Object, "spec", "paramKind", "kind")
		ours[policies[i].GetName()] = err == nil && kind == v1alpha1.PolicyKind
	}
	bindings, err := of("validatingadmissionpolicybindings")
	if err != nil {
		return false, err
	}
	for i := range bindings {
		policy, _, err := unstructured.NestedString(bindings[i].Object, "spec", "policyName")
		if err != nil || !ours[policy] {
			continue
		}
		in, _, err := unstructured.NestedString(bindings[i].Object, "spec", "paramRef", "namespace")
		if err == nil && in == namespace {
			return true, nil
		}
	}
	return false, nil
}
