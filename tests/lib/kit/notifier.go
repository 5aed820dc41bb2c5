package kit

import (
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/notify"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// Events has an operator serve its events, for a notifier to read.
func Events(o *operator.ControllerOptions) { o.MetricsAddress, o.Events = "127.0.0.1:0", true }

// Reader returns the configuration of a new ServiceAccount with a notifier's rights only: it may read the events of
// the environment's operators. It has more rules in the namespace of the operators.
func (e *Env) Reader(name string, more ...rbacv1.PolicyRule) *rest.Config {
	e.Helper()
	return e.accountWith(name, append(more, []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch"}},
	}...),
		[]rbacv1.PolicyRule{{NonResourceURLs: []string{"/events"}, Verbs: []string{"get"}}})
}

// EvidenceReader is Reader with the right that evidence needs, too.
func (e *Env) EvidenceReader(name string) *rest.Config {
	e.Helper()
	return e.Reader(name, rbacv1.PolicyRule{APIGroups: []string{"helm.cattle.io"}, Resources: []string{"helmreleases"},
		Verbs: []string{"list"}})
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
	return op.start(func() error { return notify.Run(op.ctx, options) })
}

var ofNotifications = regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?helm_locker_(notification|evidence).*\n`)

// NotifierMetrics returns the metrics of a notifier, without those of the Go runtime.
func NotifierMetrics(t testing.TB, o *Operator) string {
	t.Helper()
	return strings.Join(ofNotifications.FindAllString(Metrics(t, o), -1), "")
}
