package clitest

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
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
		"suspend -A -l kind=nosuch":                      "no HelmRelease in namespace LOCKER is for a release with labels kind=nosuch",
		"resume -l kind=nosuch -n " + w.Apps:             "no HelmRelease in namespace LOCKER is for a release in namespace APPS with labels kind=nosuch",
		"accept -A -l kind=nosuch":                       "no HelmRelease in namespace LOCKER is for a release with labels kind=nosuch",
		"enforce -A -l kind=nosuch":                      "no HelmRelease in namespace LOCKER is for a release with labels kind=nosuch",
		"unlock -A -l kind=nosuch":                       "no HelmRelease in namespace LOCKER is for a release with labels kind=nosuch",
		"suspend -A --helmrelease-selector kind=nosuch":  "no HelmRelease in namespace LOCKER has labels kind=nosuch",
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

// A misspelt name does not pass, either, and the error names what may have been meant. What is done already passes.
func TestUnknownNames(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "shop", w.Chart("shop", kit.ConfigMap("shop", "one")))
	w.Helm(kit.Shared.Helm4(), "install", "kiosk", w.Chart("kiosk", kit.ConfigMap("kiosk", "one")))
	w.Forge(kit.ForgedRecord{Name: "harbour", Manifest: kit.ConfigMap("harbour", "one")}) // no other test has one of that name
	w.CreateHelmRelease("shop")
	const accept = "  --allow-empty accepts that\n"
	w.app("unlock", "kiosk").is(0, "", "release APPS/kiosk is not locked: no HelmRelease in namespace LOCKER names it\n")
	w.app("unlock", "shpo").is(5, "", "helm-locker: release APPS/shpo is not locked: no HelmRelease in namespace LOCKER names it\n"+
		"  did you mean shop?\n"+accept)
	w.app("unlock", "kiosks").is(5, "", "helm-locker: release APPS/kiosks does not exist: namespace \"APPS\" has no record of it in a Secret\n"+
		"  did you mean kiosk?\n"+accept)
	w.app("unlock", "kiosks", "--allow-empty").is(0, "", "release APPS/kiosks does not exist: namespace \"APPS\" has no record of it in a Secret\n")
	w.cli("unlock", "shop", "-n", "no-such-namespace").is(5, "", "helm-locker: namespace \"no-such-namespace\" does not exist\n"+accept)
	w.app("unlock", "shop", "--helmrelease-namespace", "no-such-namespace").says(0, "release APPS/shop is not locked")
	for _, command := range []string{"unlock", "suspend", "resume"} {
		w.cli(command, "shpo", "-A").is(5, "", "helm-locker: no HelmRelease in namespace LOCKER names a release \"shpo\"\n"+
			"  did you mean shop -n APPS?\n")
	}
	w.app("unlock", "shop", "--name", "nosuch").is(5, "", "helm-locker: no HelmRelease of that name in namespace LOCKER is for release APPS/shop\n"+
		"  there is shop\n"+accept)
	w.app("suspend", "shop", "--name", "nosuch").says(5, "  there is shop\n", accept)
	w.app("resume", "shpo").says(5, "  did you mean shop?\n", accept)
	for _, command := range []string{"lock", "diff", "report", "rbac"} {
		w.cli(command, "harbuor", "-A").says(5, "helm-locker: there is no release \"harbuor\" in any namespace\n  did you mean harbour -n APPS")
		w.app(command, "-A", "shop").is(1, "", "helm-locker: --namespace and --all-namespaces exclude each other\n  see helm-locker "+command+" --help\n")
	}
	w.cli("rbac", "-n", "no-such-namespace").is(5, "", "helm-locker: namespace \"no-such-namespace\" does not exist\n")

	w.app("lock", "--all", "--name", "every", "--mode", "Detect").says(0, "created")
	for _, line := range []string{"status --policy evry", "status evry --policies", "status --policies --policy evry", "status --policy evry -A -o json", "policy preview evry"} {
		r := w.cli(strings.Fields(line)...)
		check.That(t,
			r.code == 5 && r.stdout == "" && strings.Contains(r.stderr, "there is no HelmReleasePolicy \"evry\"") &&
				strings.Contains(r.stderr, "did you mean every?"), "%s: exit code %d, %s%s", line, r.code, r.stdout, r.stderr)
	}
	w.cli("status", "--policy", "every").is(0, "", "no HelmRelease in namespace LOCKER fits\n")
	w.cli("status", "--policies", "every").says(0, "every")
	w.cli("status", "--policies", "-n", "no-such-namespace").is(5, "", "helm-locker: namespace \"no-such-namespace\" does not exist\n")
	w.cli("status", "--policies", "-n", "default").is(0, "", "no HelmReleasePolicy in namespace LOCKER has made a HelmRelease for a release in namespace default\n")
	for _, line := range []string{"status", "status --policies", "migrate", "migrate --yes"} {
		args := append(strings.Fields(line), "--helmrelease-namespace", "no-such-namespace")
		w.cli(args...).says(5, "helm-locker: namespace \"no-such-namespace\" does not exist\n")
	}
	w.cli("migrate", "-n", "no-such-namespace").says(5, "helm-locker: namespace \"no-such-namespace\" does not exist\n")
}
