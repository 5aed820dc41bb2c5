package chart

import (
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Chart values from the time when the operator sent notifications itself start a Deployment that sends them, with an
// election and without one. Both processes have exactly the rights that they use.
func TestNotificationsKeepWorkingWithTheChart(t *testing.T) {
	for name, election := range map[string]string{"elected": "true", "alone": "false"} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			inbox := &kit.Letters{}
			server := httptest.NewServer(inbox)
			t.Cleanup(server.Close)
			_, err := e.Kube.CoreV1().Secrets(e.Operator).Create(e.Ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "hooks"}, StringData: map[string]string{"url": server.URL},
			}, metav1.CreateOptions{})
			check.NoError(t, err)
			h := kit.Shared.Helm4()
			base := "{leaderElection: " + election + "}"
			install(e, h, freePorts(t), base)
			before := startDeployment(e, kit.Shared, "helm-locker")
			helmRelease := installExample(e, h)
			e.WaitReady(helmRelease, 1)

			values := "{notify: {urlSecret: {name: hooks}, format: json}}"
			install(e, h, freePorts(t), base, values)
			if election == "false" {
				before.stop() // as the strategy Recreate has it
			}
			startDeployment(e, kit.Shared, "helm-locker")
			before.stop()
			install(e, h, freePorts(t), base, values)
			notifier := startDeployment(e, kit.Shared, "helm-locker-notifications")
			holds(e, helmRelease)
			for _, part := range []string{"io.cattle.helm.drift.recreated", `"severity":"`} {
				e.Eventually(part+" is notified", func() error { return inbox.Contain(part) })
			}
			check.Report(t, get(notifier.metrics))
			notifier.stop()
			const name = "helm-locker-notifications"
			kept, err := e.Kube.CoreV1().ConfigMaps(e.Operator).Get(e.Ctx, name, metav1.GetOptions{})
			check.That(t, err == nil && strings.Contains(kept.Data["helm-locker"], "-"),
				"the position is not kept: %v, %v", kept, err)
			install(e, h, freePorts(t), base, values, "{podLabels: {a: b}}")
			again, err := e.Kube.CoreV1().ConfigMaps(e.Operator).Get(e.Ctx, name, metav1.GetOptions{})
			check.That(t, err == nil && again.Data["helm-locker"] == kept.Data["helm-locker"],
				"an upgrade takes the position away: %v, %v", again, err)
			for _, account := range []string{"helm-locker", "helm-locker-notifications"} {
				refused := refusals(requests(e, account))
				check.That(t, len(refused) == 0, "not permitted to %s: %+v", account, refused)
			}
			expectAllUsed(t, e, "helm-locker-notifications")
		})
	}
}

// expectAllUsed expects an account to have used every verb of the Role of its name. API servers before 1.32 cannot
// stream lists, and later ones are not asked for one.
func expectAllUsed(t *testing.T, e *kit.Env, account string) {
	t.Helper()
	role, err := e.Kube.RbacV1().Roles(e.Operator).Get(e.Ctx, account, metav1.GetOptions{})
	check.NoError(t, err)
	all := requests(e, account)
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			if verb != "list" && !made(all, verb, rule.APIGroups[0], rule.Resources[0], e.Operator) {
				t.Errorf("the right to %s %s is never used", verb, rule.Resources[0])
			}
		}
	}
}
