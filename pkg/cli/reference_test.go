package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// TestReferenceIsUpToDate fails when somebody changed a command and forgot make generate.
func TestReferenceIsUpToDate(t *testing.T) {
	for file, args := range map[string][]string{"../../docs/cli.md": {"reference"},
		"../../completion.yaml":      {"reference", "--helm-completion"},
		"../../docs/cli.schema.json": {"reference", "--schema"}} {
		want, err := os.ReadFile(file)
		check.NoError(t, err)
		// The processes of the cluster follow in the reference: their programs have them.
		got, stderr, code := runCLI(t, "", args...)
		check.That(t, strings.HasPrefix(string(want), got) && code == 0 && stderr == "",
			"%s is not what helm-locker %s prints: run make generate", file, strings.Join(args, " "))
	}
}

// TestEveryCommandIsDocumented: what a reader needs is there for each of them.
func TestEveryCommandIsDocumented(t *testing.T) {
	root := New([]string{"helm-locker"}, nil, os.Stdout, os.Stderr)
	for _, cmd := range root.Commands {
		if cmd.Hidden {
			continue
		}
		process := slices.Contains([]string{"operator", "policies", "teams", "page", "notifications"}, cmd.Name)
		check.That(t, cmd.Usage != "" && cmd.Category != "" && (process || len(examplesOf(cmd)) > 0),
			"%s lacks usage, category or examples", cmd.Name)
		for _, flag := range cmd.Flags {
			_, usage := command.Placeholder(flag)
			check.That(t, usage != "" && command.CategoryOf(flag) != "General", "flag %v of %s lacks usage or category",
				flag.Names(), cmd.Name)
		}
		for _, example := range examplesOf(cmd) {
			check.That(t, strings.HasPrefix(example, cmd.Name), "example of %s: %s", cmd.Name, example)
			for word := range strings.FieldsSeq(example) {
				name := strings.TrimLeft(word, "-")
				if name != word && !slices.ContainsFunc(cmd.Flags,
					func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
					t.Errorf("example of %s has the unknown flag %s", cmd.Name, word)
				}
			}
		}
	}
}

func TestHelpOfEveryCommand(t *testing.T) {
	for name := range examples() {
		stdout, stderr, code := runCLI(t, "", name, "--help")
		check.That(t,
			code == 0 && stderr == "" && strings.Contains(stdout, "Examples:\n") &&
				strings.Contains(stdout, "helm-locker "+name), "%s --help: exit code %d, stderr %q\n%s", name, code, stderr, stdout)
	}
}

func TestPluginsShowHelp(t *testing.T) {
	var out, errOut strings.Builder
	code := Main(t.Context(), []string{"/opt/kubectl-helm_locker"}, strings.NewReader(""), &out, &errOut)
	check.That(t,
		code == command.ExitFound && errOut.String() == "" &&
			strings.Contains(out.String(), "kubectl helm-locker [global options] [command"), "exit code %d, stderr %q\n%s", code,
		errOut.String(), out.String())
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		stdout, stderr, code := runCLI(t, "", "completion", shell)
		check.That(t, code == 0 && stderr == "" && strings.Contains(stdout, "--generate-shell-completion"),
			"%s: exit code %d, stderr %q", shell, code, stderr)
	}
}
