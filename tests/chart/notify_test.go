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

// newInbox starts a receiver of notifications, whose URL is in the Secret hooks.
func newInbox(e *kit.Env) *kit.Letters {
	e.Helper()
	inbox := &kit.Letters{}
	server := httptest.NewServer(inbox)
	e.Cleanup(server.Close)
	_, err := e.Kube.CoreV1().Secrets(e.Operator).Create(e.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"}, StringData: map[string]string{"url": server.URL},
	}, metav1.CreateOptions{})
	check.NoError(e, err)
	return inbox
}

// Chart values from the time when the operator sent notifications itself start a Deployment that sends them, with an
// election and without one. Both processes have exactly the rights that they use.
func TestNotificationsKeepWorkingWithTheChart(t *testing.T) {
	for name, election := range map[string]string{"elected": "true", "alone": "false"} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			inbox := newInbox(e)
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
			expectPermitted(e, "helm-locker", 0)
			expectNoMore(e, name)
		})
	}
}
