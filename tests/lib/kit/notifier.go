package kit

import (
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/notify"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// Events has an operator serve its events, for a notifier to read.
func Events(o *operator.ControllerOptions) { o.MetricsAddress, o.Events = "127.0.0.1:0", true }

// Reader returns the configuration of a new ServiceAccount with a notifier's rights only: it may read the events of
// the environment's operators.
func (e *Env) Reader(name string) *rest.Config {
	e.Helper()
	return e.accountWith(name, []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch"}},
	}, []rbacv1.PolicyRule{{NonResourceURLs: []string{"/events"}, Verbs: []string{"get"}}})
}

// EvidenceReader is Reader with the right that evidence needs, too.
func (e *Env) EvidenceReader(name string) *rest.Config {
	e.Helper()
	return e.accountWith(name, []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch"}},
		{APIGroups: []string{"helm.cattle.io"}, Resources: []string{"helmreleases"}, Verbs: []string{"list"}},
	}, []rbacv1.PolicyRule{{NonResourceURLs: []string{"/events"}, Verbs: []string{"get"}}})
}

// accountWith returns the configuration of a new ServiceAccount in the operator's namespace, with rights there and in
// the whole cluster.
func (e *Env) accountWith(name string, here, everywhere []rbacv1.PolicyRule) *rest.Config {
	e.Helper()
	meta := metav1.ObjectMeta{Namespace: e.Operator, Name: name}
	_, err := e.Kube.CoreV1().ServiceAccounts(e.Operator).Create(e.Ctx, &corev1.ServiceAccount{ObjectMeta: meta},
		metav1.CreateOptions{})
	check.NoError(e, err)
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: e.Operator, Name: name}}
	_, err = e.Kube.RbacV1().Roles(e.Operator).Create(e.Ctx, &rbacv1.Role{ObjectMeta: meta, Rules: here},
		metav1.CreateOptions{})
	check.NoError(e, err)
	_, err = e.Kube.RbacV1().RoleBindings(e.Operator).Create(e.Ctx, &rbacv1.RoleBinding{ObjectMeta: meta,
		Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}},
		metav1.CreateOptions{})
	check.NoError(e, err)
	wide := metav1.ObjectMeta{Name: e.Operator + "-" + name}
	_, err = e.Kube.RbacV1().ClusterRoles().Create(e.Ctx, &rbacv1.ClusterRole{ObjectMeta: wide, Rules: everywhere},
		metav1.CreateOptions{})
	check.NoError(e, err)
	_, err = e.Kube.RbacV1().ClusterRoleBindings().Create(e.Ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: wide,
		Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: wide.Name}},
		metav1.CreateOptions{})
	check.NoError(e, err)
	config, err := e.Cluster.ServiceAccountConfig(e.Ctx, e.Operator, name)
	check.NoError(e, err)
	return config
}

// StartNotifier starts the notifications process, which sends the operators' actions in namespace to URLs. It is
// stopped at the end of the test.
func StartNotifier(t testing.TB, config *rest.Config, namespace string, urls ...string) *Operator {
	t.Helper()
	return StartSink(t, config, namespace, notify.EvidenceOptions{}, urls...)
}

// StartSink is StartNotifier for a process that keeps evidence.
func StartSink(
	t testing.TB, config *rest.Config, namespace string, evidence notify.EvidenceOptions, urls ...string,
) *Operator {
	t.Helper()
	op := newOperator(t)
	log, err := operator.NewLogger(op.log, "trace", "text")
	check.NoError(t, err)
	options := notify.RunOptions{Options: notify.Options{URLs: urls}, ClientConfig: clientConfig{config},
		Namespace: namespace, ControllerName: namespace, MetricsAddress: "127.0.0.1:0", Log: log, Evidence: evidence}
	go func() {
		defer close(op.done)
		op.err = notify.Run(op.ctx, options)
	}()
	return op
}

var ofNotifications = regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?helm_locker_(notification|evidence).*\n`)

// NotifierMetrics returns the metrics of a notifier, without those of the Go runtime.
func NotifierMetrics(t testing.TB, o *Operator) string {
	t.Helper()
	return strings.Join(ofNotifications.FindAllString(Metrics(t, o), -1), "")
}
