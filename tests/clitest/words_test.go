package clitest

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A flag means the same before the command and after it.
func TestFlagsBeforeTheCommand(t *testing.T) {
	w := newFixture(t)
	w.Apps = w.Namespace("before")
	w.installShop(kit.Shared.Helm4(), "shop")
	after := w.cli("diff", "shop", "--namespace", w.Apps)
	before := w.cli("--namespace", w.Apps, "diff", "shop")
	check.That(t, after.code == 0 && before.stdout == after.stdout && before.code == after.code,
		"before: %+v\nafter: %+v", before, after)
	w.cli("--namespace", "nowhere", "diff", "shop").says(5, "")
}

// Releases are printed as NAMESPACE/NAME, and so they can be named.
func TestReleasesAreNamedAsTheyArePrinted(t *testing.T) {
	w := newFixture(t)
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Forge(kit.ForgedRecord{Name: "web", Manifest: kit.ConfigMap("web", "declared")})
	web := w.Apps + "/web"
	w.cli("lock", web, "--yes", "--wait").says(0, "release APPS/web, revision 1", "done: revision 1 is locked")
	w.cli("status", web).says(0, "APPS/web")
	w.cli("status", "default/web").says(5, "no HelmRelease")
	w.cli("diff", web).says(0)
	w.cli("diff", "-A", web).says(1, "--all-namespaces means all")
	w.cli("inspect", web).says(0, "web")
	w.cli("suspend", web, "--wait").says(0, "suspended")
	w.cli("resume", web, "--wait").says(0)
	w.cli("migrate", web, "--dry-run").says(0)
	w.cli("lock", "a/b/c").says(1, `"a/b/c" is no name of a release`, "write NAME, or NAMESPACE/NAME")
	// KIND/NAME is not taken for a release.
	for _, command := range []string{"diff", "inspect", "status", "lock", "unlock", "suspend", "resume", "report", "migrate"} {
		w.app(command, "deployment/web").is(1, "", "helm-locker: \"deployment/web\" names a release in namespace deployment, "+
			"and --namespace is APPS\n  write web -n APPS, or deployment/web, or the name of the release when deployment is "+
			"the kind of an object\n")
	}
	w.app("diff", web).says(0)
	w.app("lock", "a b").says(1, `"a b" is no name of a release`, "write NAME, or NAMESPACE/NAME")
	w.cli("unlock", web).says(0, "release APPS/web")
}

func TestProgramWithoutACommand(t *testing.T) {
	w := newFixture(t)
	version := w.cli("version")
	check.That(t, version.code == 0 && strings.HasPrefix(version.stdout, "helm-locker "), "%+v", version)
	w.cli("--namspace", "x").says(2, "no command", "see helm-locker --help")
	w.cli().says(2, "helm-locker [global options] [command")
	w.cli("operator", "--namspace", "x").says(1, "did you mean --namespace? see helm-locker operator --help")
	w.cli("diff", "--namspace", "x").says(1, "did you mean --namespace? see helm-locker diff --help")
	w.cli("operator", "now").says(1, `unexpected argument "now"`)
}
