package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// examplesThatFail are parts of examples with their exit codes; the last one that fits counts.
var examplesThatFail = []struct {
	part string
	code int
}{
	{"--revision 1", 2},   // another color
	{"policy preview", 5}, // it is for another namespace
	{" accept ", 1},       // this operator enforces any record; TestAccept has one that does not
	{" enforce ", 1},      // it is not held; TestEnforce has a rollout
	{" accept --all ", 5}, // nothing is selected
	{" enforce --all ", 5},
}

// TestEveryCommandInTheReference runs the examples of docs/cli.md as they stand there, in a shell, on a release
// like theirs.
func TestEveryCommandInTheReference(t *testing.T) {
	w := newFixture(t)
	w.Apps = w.Namespace("apps")
	chart := w.installShop(kit.Shared.Helm4(), "web")
	w.Helm(kit.Shared.Helm4(), "upgrade", "web", chart, "--set", "password="+secretValue, "--set", "color=blue",
		"--labels", "team=web")
	kit.StartWithPolicies(t, w.OperatorConfig(), w.Operator)

	dir := t.TempDir()
	check.NoError(t, os.Link(binary, filepath.Join(dir, "helm-locker")))
	for _, cluster := range []string{"prod", "staging"} {
		writeEvidence(t, filepath.Join(dir, cluster), cluster)
	}
	for file, kinds := range map[string]string{"release.yaml": "secret",
		"objects.yaml": "secret,configmap,service,deployment"} {
		check.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(w.Kubectl("get", kinds, "-o", "yaml")), 0o600))
	}
	w.cli("lock", "--all", "--allow-empty", "-n", "elsewhere", "--name", "web", "--accept-records-of-anyone").says(0, "created")
	policy := w.cli("lock", "--all", "--allow-empty", "-n", "elsewhere", "--name", "web", "--accept-records-of-anyone",
		"-o", "yaml").raw
	check.NoError(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policy), 0o600))
	// Commands about a lock need one.
	w.app("lock", "web", "--wait").says(0, "created")
	for _, line := range examples(t) {
		code := 0
		for _, c := range examplesThatFail {
			if strings.Contains(line, c.part) {
				code = c.code
			}
		}
		w.app("lock", "web").says(0, "HelmRelease")
		w.PatchHelmRelease("web", `{"metadata":{"labels":{"team":"web"}}}`)
		if strings.Contains(line, "--watch") {
			next := w.lines(strings.Fields(line)[1:]...)
			got := next()
			check.That(t, strings.Contains(got, "apps/web"), "%s: %s", line, got)
			continue
		}
		cmd := w.command(w.Ctx)
		cmd.Path, cmd.Args, cmd.Dir = "/bin/sh", []string{"sh", "-c", line}, dir
		cmd.Env = append(cmd.Env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		// It sees the objects of other tests.
		if exit := cmd.ProcessState.ExitCode(); exit != code && !strings.Contains(line, "diff -A") &&
			!strings.Contains(line, "rbac -A") && line != "helm-locker check" && line != "helm-locker report" {
			t.Errorf("%s: %v, want exit code %d\n%s", line, err, code, out)
		}
		check.That(t, !givesAway(string(out)), "%s gives a Secret away:\n%s", line, out)
	}
}

// examples returns the command lines of docs/cli.md.
func examples(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cli.md")
	check.NoError(t, err)
	var lines []string
	for i, block := range strings.Split(string(text), "```") {
		commands, shell := strings.CutPrefix(block, "sh\n")
		if i%2 == 1 && shell {
			lines = append(lines, strings.Split(strings.TrimSpace(commands), "\n")...)
		}
	}
	check.Must(t, len(lines) >= 10, "docs/cli.md has only %d examples", len(lines))
	return lines
}
