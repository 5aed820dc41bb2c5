package chart

import (
	"os/exec"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The example under the profile impersonate: without rights of the release's ServiceAccount nothing is reverted, and
// the condition reports that; with them everything is. No object of the release is ever written in the operator's own
// name.
func TestProfile_Impersonate(t *testing.T) {
	needsHelm(t)
	if help, err := exec.Command(binary, "operator", "--help").CombinedOutput(); err != nil ||
		!strings.Contains(string(help), "--impersonate") {
		t.Skip("this program cannot impersonate yet")
	}
	e := newEnv(t)
	h := kit.Shared.Helm3()
	install(e, h, freePorts(t),
		"{rbac: {profile: impersonate}, impersonation: {defaultServiceAccount: hand, serviceAccounts: [hand]}}")
	o := startDeployment(e, kit.Shared, "helm-locker")
	hand := e.Account(e.Apps, "hand")
	helmRelease := installExample(e, h)
	c := e.WaitReason(helmRelease, v1alpha1.ConditionReady, v1alpha1.ReasonForbidden)
	for _, want := range []string{"system:serviceaccount:" + e.Apps + ":hand", `cannot patch resource "configmaps"`} {
		check.That(t, strings.Contains(c.Message, want), "the condition does not say %q: %s", want, c.Message)
	}
	before := len(requests(e, "helm-locker"))
	e.Allow(e.Apps, "hand", hand, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"},
		Verbs: []string{"get", "create", "patch", "delete"}})
	e.Allow(e.Operator, "hand", hand, rbacv1.PolicyRule{APIGroups: []string{"helm.cattle.io"},
		Resources: []string{"helmreleases"}, Verbs: []string{"get", "create", "patch", "delete"}})
	e.WaitReady(helmRelease, 1)
	holds(e, helmRelease)
	for _, r := range requests(e, "helm-locker")[before:] {
		own := r.Name == "helm-locker-mark" || r.Resource == "events" || r.Resource == "leases" ||
			r.Resource == "helmreleases/status" || r.Resource == "helmreleases"
		write := r.Verb == "create" || r.Verb == "update" || r.Verb == "patch" || r.Verb == "delete"
		if write && r.As == "" && !own {
			t.Errorf("written in the operator's own name: %+v", r)
		}
	}
	outlives(e, h, o, helmRelease)
}

// The profile grants reads, impersonation of the named ServiceAccounts, and no write to objects of releases.
// HelmReleases, made by policies, are written in the namespace of the operator alone.
func TestImpersonateGrantsNoWrites(t *testing.T) {
	e := newEnv(t)
	install(e, kit.Shared.Helm4(), freePorts(t), "{rbac: {profile: impersonate}, impersonation: {serviceAccounts: [hand]}}")
	can := accessOf(e, "system:serviceaccount:"+e.Operator+":helm-locker")
	for _, q := range []struct {
		verb, group, resource, namespace, name string
		want                                   bool
	}{
		{"get", "", "secrets", e.Apps, "x", true},
		{"list", "apps", "deployments", "", "", true},
		{"watch", "example.org", "anythings", "", "", true},
		{"impersonate", "", "serviceaccounts", e.Apps, "hand", true},
		{"impersonate", "", "serviceaccounts", e.Apps, "default", false},
		{"impersonate", "", "users", "", "admin", false},
		{"impersonate", "", "groups", "", "system:masters", false},
		{"patch", "", "configmaps", e.Apps, "x", false},
		{"create", "", "configmaps", e.Apps, "", false},
		{"delete", "apps", "deployments", e.Apps, "x", false},
		{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", "", false},
		{"bind", "rbac.authorization.k8s.io", "clusterroles", "", "cluster-admin", false},
		{"create", "", "serviceaccounts/token", e.Apps, "hand", false},
		{"create", "helm.cattle.io", "helmreleases", e.Operator, "", false},
		{"create", "helm.cattle.io", "helmreleases", e.Apps, "", false},
		{"update", "helm.cattle.io", "helmreleases", e.Operator, "x", false},
		{"create", "helm.cattle.io", "helmreleasepolicies", e.Operator, "", false},
		{"update", "coordination.k8s.io", "leases", e.Operator, "other", false},
		{"update", "apiextensions.k8s.io", "customresourcedefinitions", "", "others.example.org", false},
	} {
		check.Equal(t, can(q.verb, q.group, q.resource, q.namespace, q.name), q.want, "may it %s %s %s in %q?", q.verb,
			q.resource, q.name, q.namespace)
	}
}
