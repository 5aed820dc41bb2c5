package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The process of policies works with its own roles, without one refusal, and has no unused right. While it is killed,
// drift is still reverted; after its restart it continues.
func TestPoliciesRightsAreEnoughAndNoMore(t *testing.T) {
	e := newEnv(t)
	const account = "helm-locker-policies"
	install(e, kit.Shared.Helm4(), freePorts(t))
	operator := startDeployment(e, kit.Shared, "helm-locker")
	policies := startDeployment(e, kit.Shared, account)
	helmRelease := installExample(e, kit.Shared.Helm4())
	e.WaitReady(helmRelease, 1)

	check.NoError(t, policies.cmd.Process.Kill())
	<-policies.done
	for i := range 5 {
		e.Patch(kit.ConfigMaps, "example", fmt.Sprintf(`{"data":{"message":"mine %d"}}`, i))
		e.WaitField(kit.ConfigMaps, "example", "data.message", "Only Helm can change this")
	}
	select {
	case <-operator.done:
		t.Fatal("the operator ended with the process of policies")
	default:
	}

	back := startDeployment(e, kit.Shared, account)
	e.Installed(kit.Shared.Helm4(), "plain", kit.ConfigMap("plain", "1")) // followPolicy replaces this HelmRelease
	followPolicy(e, "plain")
	check.NoError(t, get(back.metrics))

	expectNoMore(e, account)
}

// expectNoMore expects an account to have been refused nothing, and to have used every right of its roles but those on
// some resources.
func expectNoMore(e *kit.Env, account string, unused ...string) {
	e.Helper()
	expectPermitted(e, account, 0)
	here, everywhere := rulesOfAccount(e, account)
	rules := slices.DeleteFunc(slices.Concat(here, everywhere), func(r rbacv1.PolicyRule) bool {
		return len(r.Resources) == 1 && slices.Contains(unused, r.Resources[0])
	})
	expectRulesUsed(e, rules, requests(e, account))
}

// rulesOfAccount returns what the chart grants an account in the operator's namespace and in the whole cluster.
func rulesOfAccount(e *kit.Env, account string) (here, everywhere []rbacv1.PolicyRule) {
	e.Helper()
	role, err := e.Kube.RbacV1().Roles(e.Operator).Get(e.Ctx, account, metav1.GetOptions{})
	check.NoError(e, err)
	name := "helm-locker-" + e.Operator + strings.TrimPrefix(account, "helm-locker")
	wide, err := e.Kube.RbacV1().ClusterRoles().Get(e.Ctx, name, metav1.GetOptions{})
	check.NoError(e, err)
	return role.Rules, wide.Rules
}

// expectRulesUsed expects every verb of some rules to have been used, apart from those of rare requests: API servers
// before 1.32 cannot stream lists.
func expectRulesUsed(t testing.TB, rules []rbacv1.PolicyRule, all []request) {
	t.Helper()
	rare := []string{"list secrets", "create customresourcedefinitions", "update customresourcedefinitions",
		"patch events", "update leases", "list helmreleases", "list helmreleasepolicies", "list releaselocks", "list leases",
		"list namespaces",
		"list customresourcedefinitions", "list horizontalpodautoscalers",
		// These are served by no API server of its own.
		"list scaledobjects", "watch scaledobjects", "list rollouts", "watch rollouts"}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if !slices.Contains(rare, verb+" "+resource) && !made(all, verb, rule.APIGroups[0], resource, "") {
					t.Errorf("granted and never used: %s %s", verb, resource)
				}
			}
		}
	}
}
