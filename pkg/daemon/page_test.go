package daemon

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// An operator with the flags of the page starts all the same, and names the command that serves the page.
func TestTheOperatorServesNoPage(t *testing.T) {
	for name, tc := range map[string]struct {
		env, flag string
		warns     bool
	}{
		"a flag":          {"", "--page-address=127.0.0.1:0", true},
		"the environment": {"127.0.0.1:0", "--page-host=x.example", true},
		"switched off":    {"0", "--page-auth", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PAGE_ADDRESS", tc.env)
			stdout, stderr, _ := runDaemon(t, operatorName, "--kubeconfig=/does/not/exist", tc.flag)
			text := stdout + stderr
			check.That(t, strings.Contains(text, "helm-locker page") == tc.warns && !strings.Contains(text, "not defined"),
				"it logs %s", text)
		})
	}
}

func TestAPageNeedsAnAddress(t *testing.T) {
	stdout, stderr, code := runDaemon(t, pageName, "--kubeconfig=/does/not/exist")
	text := stdout + stderr
	check.That(t, code == 1 && strings.Contains(text, "--page-address"), "exit code %d: %s", code, text)
}
