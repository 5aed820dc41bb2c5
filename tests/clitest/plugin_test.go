package clitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// plugin returns a copy of files and directories of the working tree for `helm plugin install .`, without a program.
func plugin(t *testing.T, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	cp := exec.CommandContext(t.Context(), "cp", slices.Concat([]string{"-r", "--parents", "-t", dir,
		"plugin.yaml", "completion.yaml", "scripts"}, more)...)
	cp.Dir = "../.."
	out, err := cp.CombinedOutput()
	check.Must(t, err == nil, "%v: %s", err, out)
	return dir
}

func addProgram(t *testing.T, dir string) {
	t.Helper()
	check.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	check.NoError(t, os.Link(binary, filepath.Join(dir, "bin", "helm-locker")))
}

// helmUser is a user with separate Helm directories.
type helmUser struct {
	*fixture
	helm cluster.Helm
	home string
	path string
	more []string // of the environment
}

// withoutGo returns a PATH without go.
func withoutGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, program := range []string{"bash", "dirname"} {
		path, err := exec.LookPath(program)
		check.NoError(t, err)
		check.NoError(t, os.Symlink(path, filepath.Join(dir, program)))
	}
	return dir
}

func (u helmUser) run(args ...string) (output string, code int) {
	u.Helper()
	cmd := exec.CommandContext(u.Ctx, u.helm.Bin, args...)
	cmd.Env = slices.Concat(u.more, []string{"PATH=" + u.path, "HOME=" + u.home, "KUBECONFIG=" + u.kubeconfig,
		"HELM_DATA_HOME=" + filepath.Join(u.home, "data"), "HELM_CACHE_HOME=" + filepath.Join(u.home, "cache"),
		"HELM_CONFIG_HOME=" + filepath.Join(u.home, "config"), "HELM_LOCKER_NAMESPACE=" + u.Operator})
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		u.Fatal(err)
	}
	return u.neutral(string(out)), cmd.ProcessState.ExitCode()
}

func (u helmUser) says(code int, want string, args ...string) {
	u.Helper()
	if got, exit := u.run(args...); exit != code || !strings.Contains(got, want) {
		u.Errorf("helm %s: exit code %d, want %d; it says\n%s\nand not\n%s", strings.Join(args, " "), exit, code, got, want)
	}
}

func TestHelmPlugin(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.installShop(helm, "shop")
		u, dir := helmUser{fixture: w, helm: helm, home: t.TempDir(), path: withoutGo(t)}, plugin(t)
		u.says(1, "run 'make build' in ", "plugin", "install", dir)
		u.says(0, "locker", "plugin", "list")
		u.says(1, "there is no bin/helm-locker in ", "locker", "diff", "shop", "-n", w.Apps)
		addProgram(t, dir)
		u.says(0, "release APPS/shop, revision 1: no drift, 4 objects compared\n", "locker", "diff", "shop", "-n", w.Apps)
		u.says(0, "release APPS/shop, revision 1: no drift", "locker", "diff", "shop", "--namespace", w.Apps,
			"--kube-context", "helm-locker-test", "--kubeconfig", w.kubeconfig)
		w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"}}`)
		u.says(2, "-  color: green\n+  color: red\n", "locker", "diff", "shop", "-n", w.Apps)
		u.says(0, "HelmRelease LOCKER/shop created: release APPS/shop", "locker", "lock", "shop", "-n", w.Apps, "--yes")
		u.says(0, "APPS/shop", "locker", "status")
		u.says(0, "no release in namespace kube-system is locked", "locker", "status", "-n", "kube-system")
		u.says(2, "helm locker [global options] [command", "locker")
		u.says(0, "helm locker diff web -n apps\n", "locker", "diff", "--help")
		u.says(1, "helm locker: the name of a release is missing\n  see helm locker lock --help", "locker", "lock")
		u.says(0, "suspend", "__complete", "locker", "s")
	})
}

// Helm builds the program when it installs the plugin, unless there is one, and when it updates the plugin.
func TestHelmPluginIsBuilt(t *testing.T) {
	w := newFixture(t)
	goEnv, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN").Output()
	check.NoError(t, err)
	of := strings.Fields(string(goEnv))
	cached := []string{"GOCACHE=" + of[0], "GOMODCACHE=" + of[1], "GOTOOLCHAIN=" + of[2], "GOPROXY=off"}
	dir := plugin(t, "go.mod", "go.sum", "cmd", "pkg", "crds")
	for _, helm := range []cluster.Helm{kit.Shared.Helm3(), kit.Shared.Helm4()} {
		u := helmUser{fixture: w, helm: helm, home: t.TempDir(), path: os.Getenv("PATH"), more: cached}
		if _, err := os.Stat(filepath.Join(dir, "bin")); err == nil {
			u.path = withoutGo(t) // it builds nothing
		}
		u.says(0, "Installed plugin: locker", "plugin", "install", dir)
		u.says(0, "helm locker diff web -n apps\n", "locker", "diff", "--help")
	}
	update := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts/helm-plugin-install"), "update")
	update.Env = []string{"PATH=" + withoutGo(t)}
	out, err := update.CombinedOutput()
	check.That(t, err != nil && strings.Contains(string(out), "is built by Go"),
		"an update that cannot build ends with %v: %s", err, out)
}

// TestKubectlPlugin runs the program as `kubectl helm-locker`; it only needs its name for that.
func TestKubectlPlugin(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	dir := t.TempDir()
	check.NoError(t, os.Link(binary, filepath.Join(dir, "kubectl-helm_locker")))
	run := func(args ...string) (string, int) {
		t.Helper()
		kubectl := w.Cluster.Binaries().Kubectl
		cmd := exec.CommandContext(t.Context(), kubectl, append([]string{"helm-locker"}, args...)...)
		cmd.Env = []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" +
			dir, "KUBECONFIG=" + w.kubeconfig}
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return w.neutral(string(out)), cmd.ProcessState.ExitCode()
	}
	got, code := run("diff", "shop", "-n", w.Apps)
	check.That(t, code == 0 && got == "release APPS/shop, revision 1: no drift, 4 objects compared\n", "exit code %d: %s",
		code, got)
	got, code = run("lock")
	check.That(t,
		code == 1 && got == "kubectl helm-locker: the name of a release is missing\n  see kubectl helm-locker lock --help\n",
		"exit code %d: %s", code, got)
	got, code = run()
	check.That(t, code == 2 && strings.Contains(got, "kubectl helm-locker [global options]"), "exit code %d: %s", code,
		got)
}

func TestCompletion(t *testing.T) {
	w := newFixture(t)
	completed := func(args ...string) []string {
		t.Helper()
		var words []string
		for line := range strings.Lines(w.cli(append(args, "--generate-shell-completion")...).stdout) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			words = append(words, word)
		}
		return words
	}
	for _, want := range []string{"diff", "status", "inspect", "lock", "unlock", "suspend", "resume", "completion"} {
		got := completed()
		check.That(t, slices.Contains(got, want), "%s is not among %v", want, got)
	}
	got := completed("diff", "--rev")
	check.That(t, slices.Contains(got, "--revision"), "--rev is completed to %v", got)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to try the script with")
	}
	script := `eval "$(helm-locker completion bash)"; COMP_WORDS=(helm-locker st); COMP_CWORD=1; cur=st
__helm-locker_bash_autocomplete; echo "${COMPREPLY[@]}"`
	cmd := exec.CommandContext(t.Context(), bash, "-c", script) // without the package bash-completion
	cmd.Env = []string{"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	check.That(t, err == nil && strings.TrimSpace(string(out)) == "status", "bash completes st to %q (%v)", out, err)
}
