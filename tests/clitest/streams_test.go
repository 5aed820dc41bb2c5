package clitest

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/version"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// onFirst returns a writer that forwards everything, and calls do once, in a new goroutine, when a text has been
// written.
func onFirst(w io.Writer, text string, do func()) io.Writer {
	return &listener{w: w, text: text, do: do}
}

type listener struct {
	w    io.Writer
	text string
	do   func()

	mu   sync.Mutex
	seen bytes.Buffer
	once sync.Once
}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Write(p)
	if strings.Contains(l.seen.String(), l.text) {
		l.once.Do(func() { go l.do() })
	}
	return l.w.Write(p)
}

// --quiet leaves out all output but errors and the drift of a question, and no exit code changes.
func TestQuiet(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	silent := func(args ...string) {
		t.Helper()
		w.app(args...).is(0, "", "")
	}
	silent("lock", "shop", "--wait", "--quiet")
	silent("lock", "shop", "-q")
	silent("lock", "shop", "--mode", "Detect", "--dry-run", "-q")
	silent("suspend", "shop", "--for", "1h", "-q", "--wait")
	silent("lock", "shop", "--wait", "-q") // without the note about the suspension
	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":7}}`)
	w.app("resume", "shop", "-q").says(2, "revert spec.replicas 7 -> 2", "nothing was changed: there is no terminal to ask at")
	silent("resume", "shop", "--yes", "--quiet", "--wait")
	w.app("resume", "shop", "-q", "-o", "name").says(1, "--quiet and --output exclude each other")
	w.app("resume", "nosuch", "-q").says(5, "release APPS/nosuch is not locked")
	w.app("enforce", "shop", "-q").says(1, "helm-locker: ")
	w.app("accept", "shop", "-q").says(1, "helm-locker: there is nothing to accept")
	w.app("lock", "shop", "--scope", "Strict", "--wait", "--timeout", "1ns", "-q").is(1, "",
		"helm-locker: not done after 1ns; still waiting for an operator\n  helm-locker status shop shows more; --timeout waits longer\n")
	silent("unlock", "shop", "-q")
	silent("unlock", "shop", "-q") // again
}

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

// versions is the output of version -o json.
type versions struct {
	Kind  string
	Items []struct {
		Component, Name, Version string
		Running                  *bool
	}
}

// The operator writes its version to its Lease, and version reads it there.
func TestVersionOfTheOperator(t *testing.T) {
	w := newFixture(t)
	w.cli("version", "--client").says(0, "helm-locker ")
	w.cli("version").says(0, "helm-locker ", "note: no operator helm-locker has run in namespace LOCKER")
	o := kit.StartOperator(t, w.OperatorConfig(), w.Operator, func(o *operator.ControllerOptions) {
		o.LeaderElection = true
	})
	w.installShop(kit.Shared.Helm4(), "shop")
	w.Lock("shop")
	lines := strings.Split(w.cli("version").stdout, "\n")
	want := "operator LOCKER/LOCKER " + version.Version
	check.That(t, len(lines) == 3 && lines[1] == want, "lines are %q, want %q as the second one", lines, want)
	found := w.versions(0)
	check.That(t, len(found.Items) == 2 && found.Items[1].Version == version.Version && *found.Items[1].Running,
		"versions are %+v", found)
	o.Stop()
	found = w.versions(0)
	check.That(t, len(found.Items) == 2 && !*found.Items[1].Running, "versions are %+v", found)
	w.cli("version").says(0, "operator LOCKER/LOCKER "+version.Version+" (it does not run)\n")
	nobody := w.as("nobody")
	nobody.cli("version").says(1, "helm-locker ", `cannot get resource "leases"`)
	found = nobody.versions(1)
	check.That(t, len(found.Items) == 1 && found.Items[0].Component == "client", "versions are %+v", found)
	nobody.kubeconfig = "/nonexistent"
	nobody.cli("version", "--client", "-o", "yaml").says(0, "kind: VersionList")
	nobody.cli("version").says(1, "helm-locker ", "no cluster is configured")
}

// versions runs version -o json.
func (w *fixture) versions(code int) (found versions) {
	w.Helper()
	r := w.cli("version", "-o", "json")
	r.says(code, `"VersionList"`)
	check.NoError(w, json.Unmarshal([]byte(r.raw), &found))
	return found
}
