package daemon

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// parse runs a command line with an action that inspects the parsed command instead of running a process.
func parse(t *testing.T, look func(*cli.Command), args ...string) error {
	t.Helper()
	var out bytes.Buffer
	args = append([]string{"helm-locker"}, args...)
	cmd := New(&out, &out)
	cmd.Command(operatorName).Action = func(_ context.Context, c *cli.Command) error {
		look(c)
		return nil
	}
	args, err := command.Arrange(cmd, args, operatorName)
	check.NoError(t, err)
	return cmd.Run(t.Context(), args)
}

func TestClassicFlagsAndEnvironment(t *testing.T) {
	classic := map[string]struct{ env, preset, flag string }{
		"kubeconfig":      {"KUBECONFIG", "", "--kubeconfig"},
		"namespace":       {"NAMESPACE", "cattle-helm-system", "--namespace"},
		"controller-name": {"CONTROLLER_NAME", "helm-locker", "--controller-name"},
		"node-name":       {"NODE_NAME", "", "--node-name"},
	}
	for name, tc := range classic {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tc.env, "")
			check := func(want string, args ...string) {
				t.Helper()
				err := parse(t, func(c *cli.Command) { check.Equal(t, c.String(name), want, "%v", name) }, args...)
				check.NoError(t, err)
			}
			t.Setenv(tc.env, "from-env")
			check("from-env")
			check("from-flag", tc.flag, "from-flag")
		})
	}
	err := parse(t, func(c *cli.Command) {
		check.That(t, c.String("kubeconfig") == "file" && c.Bool("pprof"), "the short flags -k and -p are not what they were")
	}, "-k", "file", "-p")
	check.NoError(t, err)
}

func TestLogLevels(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"info without flags":           {nil, "info"},
		"as asked":                     {[]string{"--log-level", "warn"}, "warn"},
		"debug":                        {[]string{"--debug"}, "debug"},
		"debug wins":                   {[]string{"--debug", "--log-level", "error"}, "debug"},
		"a high debug level is trace":  {[]string{"--debug", "--debug-level", "9"}, "trace"},
		"a debug level without debug":  {[]string{"--debug-level", "9"}, "info"},
		"a low debug level stays so":   {[]string{"--debug", "--debug-level", "2"}, "debug"},
		"trace by its name without -d": {[]string{"--log-level", "trace"}, "trace"},
	} {
		t.Run(name, func(t *testing.T) {
			check.NoError(t, parse(t, func(c *cli.Command) {
				check.Equal(t, command.LogLevel(c), tc.want, "level")
			}, tc.args...))
		})
	}
}

func TestMistakesAreClearErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":      {[]string{"--namspace=x"}, "did you mean --namespace? see helm-locker operator --help"},
		"an argument":          {[]string{"lokc"}, `unknown command "lokc"`},
		"an empty namespace":   {[]string{"--namespace="}, "--namespace must not be empty"},
		"a log level":          {[]string{"--log-level", "loud"}, "use error, warn, info, debug or trace"},
		"a log format":         {[]string{"--log-format", "xml"}, "use text or json"},
		"a missing kubeconfig": {[]string{"--kubeconfig", "/does/not/exist"}, "/does/not/exist"},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := runDaemon(t, tc.args...)
			check.That(t, code == command.ExitFailed && strings.Contains(stderr, tc.want), "exit code %d, %q", code,
				stderr)
		})
	}
}

func TestHelpAndVersionEndWithoutAnOperator(t *testing.T) {
	for _, flag := range []string{"--help", "--version", "version"} {
		stdout, stderr, code := runDaemon(t, flag)
		check.That(t, code == command.ExitOK && stdout != "" && stderr == "", "%s: exit code %d, stdout %q, stderr %q", flag,
			code, stdout, stderr)
	}
}

// runDaemon runs a command line as main does and returns its output and its exit code.
func runDaemon(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Main(t.Context(), append([]string{"helm-locker"}, args...), strings.NewReader(""), &out, &errOut)
	return out.String(), errOut.String(), code
}

func TestHelpWhereOnlyTheInputIsATerminal(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "/does/not/exist")
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal can be made: ", err)
	}
	defer terminal.Close()       //nolint:errcheck // nothing was written
	var out, errOut bytes.Buffer // helm-locker | less
	code := Main(t.Context(), []string{"helm-locker"}, terminal, &out, &errOut)
	check.That(t, code == command.ExitOK && strings.Contains(out.String(), "USAGE:"),
		"exit code %d, stdout %q, stderr %q", code, out.String(), errOut.String())
}

func TestFlagsMeanTheSameBeforeTheCommandAndAfterIt(t *testing.T) {
	for line, want := range map[string]string{
		"":                             "operator",
		"--namespace diff":             "operator --namespace diff",
		"--namespace=x -p":             "operator --namespace=x -p",
		"-k file --debug":              "operator -k file --debug",
		"--nonsense operator":          "operator --nonsense",
		"--nonsense x":                 "operator --nonsense x",
		"--nonsense":                   "operator --nonsense",
		"--debug operator --pprof":     "operator --debug --pprof",
		"--leader-elect=false --pprof": "operator --leader-elect=false --pprof",
		"--notify-url https://x -p":    "operator --notify-url https://x -p",
		"--help":                       "--help",
		"-v":                           "-v",
		"--generate-shell-completion":  "--generate-shell-completion",
	} {
		args := append([]string{"helm-locker"}, strings.Fields(line)...)
		root := New(io.Discard, io.Discard)
		got, err := command.Arrange(root, args, operatorName)
		check.That(t, err == nil && strings.Join(got, " ") == strings.TrimSpace("helm-locker "+want), "%q: %v, %v", line, got,
			err)
	}
}

func TestWithoutArgumentsInATerminalItIsHelp(t *testing.T) {
	args := []string{"helm-locker"}
	got, err := command.Arrange(New(io.Discard, io.Discard), args, "")
	check.That(t, err == nil && len(got) == 1, "%v, %v", got, err)
}

// A flag takes a value in all commands or in none: otherwise the word before a command would be ambiguous.
func TestFlagsOfOneNameAreAlike(t *testing.T) {
	takesValue := map[string]bool{}
	for _, cmd := range New(io.Discard, io.Discard).Commands {
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
