package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestDurationsHaveDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30m": 30 * time.Minute, "1.5h": 90 * time.Minute, "1d": 24 * time.Hour, "1w2d": 9 * 24 * time.Hour,
		"1d12h": 36 * time.Hour, "-1h": -time.Hour,
	} {
		got, err := duration(text)
		check.That(t, err == nil && got == want, "%s is %s, %v; want %s", text, got, err, want)
	}
	for _, text := range []string{"", "d", "1x", "tomorrow", "1 d"} {
		got, err := duration(text)
		check.That(t, err != nil, "%q is %s", text, got)
	}
}

// Values of enums are those of the API, in any case.
func TestValuesInAnyCase(t *testing.T) {
	for mode, want := range map[string]string{"enforce": "", "DETECT": "", "Enforce": "", "force": "is none of"} {
		_, stderr, code := runCLI(t, "", "lock", "--kubeconfig", "/nonexistent", "--mode", mode, "web")
		check.That(t,
			code == command.ExitFailed && strings.Contains(stderr, want) &&
				strings.Contains(stderr, "is none of") == (want != ""), "--mode %s: %d, %s", mode, code, stderr)
	}
}
