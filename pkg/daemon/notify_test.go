package daemon

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// An operator configured to send notifications itself does not start, and names the command that sends them.
func TestTheOperatorSendsNoNotifications(t *testing.T) {
	for name, tc := range map[string]struct{ env, flag string }{
		"a flag":          {"", "--notify-url=https://user:hunter2@a.example"},
		"the environment": {"https://user:hunter2@a.example", "--events"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HELM_LOCKER_NOTIFY_URL", tc.env)
			stdout, stderr, code := runDaemon(t, operatorName, tc.flag, "--notify-format=slack")
			text := stdout + stderr
			check.That(t, code == 1 && strings.Contains(text, "helm-locker notifications") && !strings.Contains(text, "hunter2"),
				"exit code %d: %s", code, text)
		})
	}
}
