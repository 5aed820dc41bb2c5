package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestHelpAndVersionEndWithoutAnOperator(t *testing.T) {
	for _, flag := range []string{"--help", "--version"} {
		var out bytes.Buffer
		args := []string{"helm-locker", flag}
		err := New(args, strings.NewReader(""), &out, &out).Run(t.Context(), args)
		check.That(t, err == nil && out.Len() != 0, "%s: %v, %q", flag, err, out.String())
	}
}

// runCLI runs a command line as main does, with standard input, and returns what it printed and its exit code.
func runCLI(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Main(t.Context(), append([]string{"helm-locker"}, args...), strings.NewReader(stdin), &out, &errOut)
	return out.String(), errOut.String(), code
}

func TestMistakesOfCommandsAreClearErrors(t *testing.T) {
	t.Setenv("KUBECONFIG", "/does/not/exist")
	t.Setenv("DEBUG", "*") // of another program
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a misspelt command": {[]string{"inspekt"},
			"helm-locker: unknown command \"inspekt\"\n  did you mean \"inspect\"? see helm-locker --help for all commands\n"},
		"a strange command": {
			[]string{"xyz"}, "helm-locker: unknown command \"xyz\"\n  see helm-locker --help for all commands\n",
		},
		"an unknown flag": {[]string{"inspect", "--foo"},
			"helm-locker: flag provided but not defined: --foo\n  see helm-locker inspect --help\n"},
		"no release": {[]string{"lock"}, "helm-locker: the name of a release is missing\n  see helm-locker lock --help\n"},
		"two releases": {[]string{"inspect", "a", "b"},
			"helm-locker: unexpected argument \"b\"\n  see helm-locker inspect --help\n"},
		"names and a selector": {[]string{"unlock", "a", "--all"},
			"helm-locker: names of releases, and --selector or --all, exclude each other\n  see helm-locker unlock --help\n"},
		"everywhere": {[]string{"unlock", "-A"},
			"helm-locker: --all-namespaces needs the name of a release, --selector or --all\n  see helm-locker unlock --help\n"},
		"two parts": {[]string{"inspect", "a", "--notes", "--json"},
			"helm-locker: --notes and --json exclude each other\n  see helm-locker inspect --help\n"},
		"revision zero": {[]string{"inspect", "a", "--revision=0"},
			"helm-locker: invalid value \"0\" for flag --revision: 0 is not a number from 1 on\n  see helm-locker inspect --help\n"},
		"a mode": {[]string{"lock", "a", "--mode=force"},
			"helm-locker: invalid value \"force\" for flag --mode: \"force\" is none of Enforce, Detect\n  see helm-locker lock --help\n"},
		"no pointer": {[]string{"lock", "a", "--ignore=spec.replicas"},
			"helm-locker: --ignore \"spec.replicas\" is no JSON pointer\n  begin each segment with a slash, and write ~1 for a slash and ~0 for a tilde in a key: /metadata/annotations/example.com~1hash\n"},
		"for and until": {[]string{"suspend", "a", "--for=1m", "--until=2030-01-01T00:00:00Z"},
			"helm-locker: --for and --until exclude each other\n  see helm-locker suspend --help\n"},
		"no time": {[]string{"suspend", "a", "--until=tomorrow"},
			"helm-locker: --until \"tomorrow\" is not a time\n  write it like 2026-01-31T18:00:00Z or 2026-01-31T18:00:00+01:00\n"},
		"a time gone by": {[]string{"suspend", "a", "--until=2001-01-01T00:00:00Z"},
			"helm-locker: --until 2001-01-01T00:00:00Z is in the past\n"},
		"no cluster": {[]string{"inspect", "a"},
			"helm-locker: no cluster is configured\n  point KUBECONFIG or --kubeconfig to a kubeconfig file, and choose a context of it with --context\n"},
		"no kubeconfig": {[]string{"inspect", "a", "--kubeconfig=/does/not/exist"},
			"helm-locker: kubeconfig: stat /does/not/exist: no such file or directory\n"},
		"no file": {[]string{"inspect", "-f", "/does/not/exist"},
			"helm-locker: open /does/not/exist: no such file or directory\n"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := runCLI(t, "", tc.args...)
			check.That(t, stdout == "" && stderr == tc.want && code == command.ExitFailed, "stdout %q, stderr %q, exit code %d",
				stdout, stderr, code)
		})
	}
}

func TestProgramNames(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"itself":       {[]string{"/usr/bin/helm-locker"}, nil, "helm-locker"},
		"another name": {[]string{"locker-v2"}, nil, "helm-locker"},
		"kubectl":      {[]string{"/opt/kubectl-helm_locker", "diff"}, nil, "kubectl helm-locker"},
		"kubectl.exe":  {[]string{"kubectl-helm_locker.exe"}, nil, "kubectl helm-locker"},
		"helm": {[]string{"bin/helm-locker", "diff"},
			map[string]string{"HELM_BIN": "helm", "HELM_PLUGIN_NAME": "locker"}, "helm locker"},
		"completion":     {[]string{"kubectl-helm_locker", "completion", "bash"}, nil, "helm-locker"},
		"no name at all": {nil, nil, "helm-locker"},
		"another plugin": {[]string{"helm-locker"}, map[string]string{"HELM_BIN": "helm", "HELM_PLUGIN_NAME": "diff"},
			"helm-locker"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			check.Equal(t, programName(tc.args), tc.want, "name")
		})
	}
}

func TestFlagsMeanTheSameBeforeTheCommandAndAfterIt(t *testing.T) {
	for line, want := range map[string]string{
		"":                                      "",
		"--nonsense diff":                       "diff --nonsense",
		"diff web":                              "diff web",
		"--namespace apps diff shop":            "diff --namespace apps shop",
		"-n apps --context=c diff shop -A":      "diff -n apps --context=c shop -A",
		"--kubeconfig file status":              "status --kubeconfig file",
		"operator --debug":                      "operator --debug",
		"--help diff":                           "diff --help",
		"diff shop -n apps --help":              "diff --help",
		"lock -h shop":                          "lock --help",
		"policy preview all --help":             "policy --help",
		"--help":                                "--help",
		"-v":                                    "-v",
		"help lock":                             "help lock",
		"completion bash":                       "completion bash",
		"completion powershell":                 "completion pwsh",
		"--generate-shell-completion":           "--generate-shell-completion",
		"-n a --generate-shell-completion":      "--generate-shell-completion",
		"--he --generate-shell-completion":      "--he --generate-shell-completion",
		"-n a diff --generate-shell-completion": "diff -n a --generate-shell-completion",
	} {
		args := append([]string{"helm-locker"}, strings.Fields(line)...)
		root := New(args, nil, io.Discard, io.Discard)
		got, err := command.Arrange(root, args, "")
		check.That(t, err == nil && strings.Join(got, " ") == strings.TrimSpace("helm-locker "+want), "%q: %v, %v", line, got,
			err)
	}
}

// TestNoCommandIsHelpAndAnError keeps a pipeline that lost the command from passing.
func TestNoCommandIsHelpAndAnError(t *testing.T) {
	stdout, stderr, code := runCLI(t, "")
	check.That(t, code == command.ExitFound && strings.Contains(stdout, "USAGE:") && stderr == "",
		"exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	_, stderr, code = runCLI(t, "", "--namespace", "apps")
	check.That(t, code == command.ExitFound && strings.Contains(stderr, "no command"),
		"with a flag: exit code %d, stderr %q", code, stderr)
}

func TestTheOperatorIsAProgramOfItsOwn(t *testing.T) {
	t.Setenv("PATH", "")
	for _, name := range []string{"operator", "page", "notifications"} {
		_, stderr, code := runCLI(t, "", name, "--namespace", "apps")
		check.That(t, code == command.ExitFailed && strings.Contains(stderr, "make build builds it"),
			"%s: exit code %d, stderr %q", name, code, stderr)
	}
}

// A flag takes a value in all commands or in none: otherwise it is not known what stands before a command.
func TestFlagsOfOneNameAreAlike(t *testing.T) {
	takesValue := map[string]bool{}
	for _, cmd := range New(nil, nil, io.Discard, io.Discard).Commands {
		for _, flag := range cmd.Flags {
			_, isBool := flag.(*cli.BoolFlag)
			for _, name := range flag.Names() {
				if other, known := takesValue[name]; known && other == isBool {
					t.Errorf("--%s of %s is not like that of another command", name, cmd.Name)
				}
				takesValue[name] = !isBool
			}
		}
	}
}
