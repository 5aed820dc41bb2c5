package chart

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// accessOf returns a function that asks the API server for the rights of a user. ServiceAccounts have their groups.
func accessOf(e *kit.Env, user string) func(verb, group, resource, namespace, name string) bool {
	return func(verb, group, resource, namespace, name string) bool {
		e.Helper()
		resource, sub, _ := strings.Cut(resource, "/")
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
			Groups: []string{"system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource,
				Subresource: sub, Namespace: namespace, Name: name}}}
		answer, err := e.Kube.AuthorizationV1().SubjectAccessReviews().Create(e.Ctx, review, metav1.CreateOptions{})
		check.NoError(e, err)
		return answer.Status.Allowed
	}
}

// Admins and editors of the operator's namespace manage its HelmReleases, and viewers read them, without a separate
// binding for helm-locker, and in no other namespace.
func TestUsersManageHelmReleasesByTheirUsualRoles(t *testing.T) {
	e := newEnv(t)
	install(e, kit.Shared.Helm3(), freePorts(t))
	for _, role := range []string{"admin", "edit", "view"} {
		user := role + "-of-" + e.Operator
		e.Bind(e.Operator, role, "ClusterRole/"+role, kit.User(user))
		can := accessOf(e, user)
		e.Until(role+" may read HelmReleases", func() (any, bool) {
			return "not yet", can("list", "helm.cattle.io", "helmreleases", e.Operator, "") &&
				can("get", "helm.cattle.io", "helmreleases/status", e.Operator, "x")
		})
		for _, verb := range []string{"create", "update", "patch", "delete"} {
			check.Equal(t, can(verb, "helm.cattle.io", "helmreleases", e.Operator, ""), role != "view",
				"%s: may %s HelmReleases", role, verb)
		}
		check.That(t,
			!can("patch", "helm.cattle.io", "helmreleases/status", e.Operator, "x") &&
				!can("list", "helm.cattle.io", "helmreleases", e.Apps, ""), "%s may write a status, or reads another namespace",
			role)
	}
	install(e, kit.Shared.Helm3(), freePorts(t), "{rbac: {userRoles: false}}")
	e.Until("the rights are gone", func() (any, bool) {
		return "not yet", othersGrant(e) ||
			!accessOf(e, "view-of-"+e.Operator)("list", "helm.cattle.io", "helmreleases", e.Operator, "")
	})
}

// othersGrant reports whether the chart of another test has roles that aggregate, too.
func othersGrant(e *kit.Env) bool {
	e.Helper()
	roles, err := e.Kube.RbacV1().ClusterRoles().List(e.Ctx,
		metav1.ListOptions{LabelSelector: "rbac.authorization.k8s.io/aggregate-to-view=true,app=helm-locker"})
	check.NoError(e, err)
	return len(roles.Items) > 0
}
