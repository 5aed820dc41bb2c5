package kit

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// PageAccount returns the configuration of a ServiceAccount of its own with the rights of a page, as the chart grants
// them, and no others.
func (e *Env) PageAccount(name string) *rest.Config {
	e.Helper()
	return e.accountWith(name, []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.SchemeGroupVersion.Group}, Resources: []string{"helmreleases"},
			Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
			Verbs: []string{"get", "list", "watch"}},
	}, []rbacv1.PolicyRule{
		{NonResourceURLs: []string{"/events"}, Verbs: []string{"get"}},
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"},
			Verbs: []string{"create"}},
	})
}

// StartPage starts the process that serves the page of the HelmReleases of namespace on a free port, beside the
// operators of that name. It is stopped at the end of the test.
func StartPage(t testing.TB, config *rest.Config, namespace string, options ...func(*page.RunOptions)) *Operator {
	t.Helper()
	op := newOperator(t)
	log, err := operator.NewLogger(op.log, "trace", "text")
	check.NoError(t, err)
	o := page.RunOptions{ClientConfig: clientConfig{config}, Namespace: namespace, ControllerName: namespace,
		Address: "127.0.0.1:0", Log: log}
	for _, option := range options {
		option(&o)
	}
	return op.start(func() error { return page.Run(op.ctx, o) })
}
