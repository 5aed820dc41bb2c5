package clitest

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A misspelt namespace or label in a pipeline does not pass: no command that selects succeeds with nothing selected.
func TestNothingSelected(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "shop", w.Chart("shop", kit.ConfigMap("shop", "one")))
	w.CreateHelmRelease("shop")
	const (
		missing = "helm-locker: namespace \"no-such-namespace\" does not exist\n"
		accept  = "  --allow-empty accepts that\n"
	)
	w.stdin = `
apiVersion: helm.cattle.io/v1alpha1
kind: HelmReleasePolicy
metadata: {name: none}
spec:
  match: {namespaces: [` + w.Apps + `], releaseSelector: {matchLabels: {kind: nosuch}}}
`
	for _, line := range []string{
		"report -n no-such-namespace", "report -n no-such-namespace -o json", "report -n no-such-namespace -o junit",
		"diff -n no-such-namespace", "diff -n no-such-namespace -o json", "suspend --all -n no-such-namespace",
		"resume --all -n no-such-namespace", "unlock --all -n no-such-namespace", "lock --all -n no-such-namespace",
		"policy preview -f - -n no-such-namespace",
	} {
		args := strings.Fields(line)
		if r := w.cli(args...); r.code != 5 || r.stderr != missing+accept {
			t.Errorf("%s: exit code %d, stderr %s", line, r.code, r.stderr)
		}
		note := strings.TrimPrefix(missing, "helm-locker: ")
		if r := w.cli(append(args, "--allow-empty")...); r.code != 0 || !strings.HasPrefix(r.stderr, note) {
			t.Errorf("%s --allow-empty: exit code %d, stderr %s", line, r.code, r.stderr)
		}
	}
	w.cli("status", "-n", "no-such-namespace").is(5, "", missing)
	w.cli("check", "-n", "no-such-namespace").is(5, "", missing)

	for line, reason := range map[string]string{
		"report -A -l kind=nosuch -o markdown":           "there is no release to compare with labels kind=nosuch",
		"diff -A -l kind=nosuch":                         "there is no release to compare with labels kind=nosuch",
		"suspend -A -l kind=nosuch":                      "no HelmRelease in namespace LOCKER has labels kind=nosuch",
		"resume -l kind=nosuch -n " + w.Apps:             "no HelmRelease in namespace LOCKER is for a release in namespace APPS and has labels kind=nosuch",
		"unlock -A -l kind=nosuch":                       "no HelmRelease in namespace LOCKER has labels kind=nosuch",
		"lock -A -l kind=nosuch --mode Detect --dry-run": "there is no release with labels kind=nosuch",
		"policy preview -f -":                            "HelmReleasePolicy none matches no release",
	} {
		if r := w.cli(strings.Fields(line)...); r.code != 5 || r.stderr != "helm-locker: "+reason+"\n"+accept {
			t.Errorf("%s: exit code %d, stderr %s", line, r.code, r.stderr)
		}
	}
	// The report is written all the same.
	r := w.cli("report", "-A", "-l", "kind=nosuch", "-o", "junit")
	r.says(5, `<testsuites name="helm-locker" tests="0" failures="0" errors="0"></testsuites>`)

	// Releases without a deployed revision are not compared.
	other := w.Namespace(w.Apps + "-2")
	w.Apps, other = other, w.Apps
	w.Forge(kit.ForgedRecord{Name: "gone", Status: "uninstalled", Manifest: kit.ConfigMap("gone", "one")})
	w.app("diff").says(5, "no release was compared: none has a deployed revision\n", accept)
	w.Apps = other
	w.app("diff").says(0, "1 release, none drifted")
}
