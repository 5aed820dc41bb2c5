package daemon

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestNotifyURLs(t *testing.T) {
	t.Setenv("HELM_LOCKER_NOTIFY_URL", "https://a.example/?x=1,2\nhttps://b.example")
	for name, tc := range map[string]struct{ args, want []string }{
		"from the environment": {nil, []string{"https://a.example/?x=1,2", "https://b.example"}},
		"from flags": {[]string{"--notify-url", "https://c.example/?x=1,2",
			"--notify-url=https://d.example"}, []string{"https://c.example/?x=1,2", "https://d.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := parse(t, func(c *cli.Command) {
				if o := notifyOptions(c); !slices.Equal(o.URLs, tc.want) || o.Format != "cloudevents" {
					t.Errorf("options are %+v", o)
				}
			}, append([]string{notificationsName}, tc.args...)...)
			check.NoError(t, err)
		})
	}
}

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
			if code != 1 || !strings.Contains(text, "helm-locker notifications") || strings.Contains(text, "hunter2") {
				t.Errorf("exit code %d: %s", code, text)
			}
		})
	}
}

func TestNotifyURLsAreNotPrinted(t *testing.T) {
	t.Setenv("HELM_LOCKER_NOTIFY_URL", "https://user:hunter2@host:port/")
	for _, args := range [][]string{{"--help"}, {"--kubeconfig", "/does/not/exist"}, {"--nonsense"}} {
		stdout, stderr, _ := runDaemon(t, append([]string{notificationsName}, args...)...)
		if text := stdout + stderr; strings.Contains(text, "hunter2") {
			t.Errorf("%v prints the URL: %s", args, text)
		}
	}
}
