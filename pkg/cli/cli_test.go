package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// run runs the command line with an action that looks at the parsed command instead of the operator.
func parse(t *testing.T, look func(*cli.Command), args ...string) error {
	t.Helper()
	var out bytes.Buffer
	cmd := New(&out, &out)
	cmd.Action = func(_ context.Context, c *cli.Command) error {
		look(c)
		return nil
	}
	return cmd.Run(t.Context(), append([]string{"helm-locker"}, args...))
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
				err := parse(t, func(c *cli.Command) {
					if got := c.String(name); got != want {
						t.Errorf("%s is %q, want %q", name, got, want)
					}
				}, args...)
				if err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv(tc.env, "from-env")
			check("from-env")
			check("from-flag", tc.flag, "from-flag")
		})
	}
	err := parse(t, func(c *cli.Command) {
		if c.String("kubeconfig") != "file" || !c.Bool("pprof") {
			t.Error("the short flags -k and -p are not what they were")
		}
	}, "-k", "file", "-p")
	if err != nil {
		t.Fatal(err)
	}
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
			if err := parse(t, func(c *cli.Command) {
				if got := level(c); got != tc.want {
					t.Errorf("level is %s", got)
				}
			}, tc.args...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestMistakesAreClearErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":      {[]string{"--namspace", "x"}, "namspace"},
		"an argument":          {[]string{"lock"}, `unknown argument "lock"`},
		"an empty namespace":   {[]string{"--namespace="}, "--namespace must not be empty"},
		"a log level":          {[]string{"--log-level", "loud"}, "use error, warn, info, debug or trace"},
		"a log format":         {[]string{"--log-format", "xml"}, "use text or json"},
		"a missing kubeconfig": {[]string{"--kubeconfig", "/does/not/exist"}, "/does/not/exist"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := New(&out, &out).Run(t.Context(), append([]string{"helm-locker"}, tc.args...))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestHelpAndVersionEndWithoutAnOperator(t *testing.T) {
	for _, flag := range []string{"--help", "--version"} {
		var out bytes.Buffer
		if err := New(&out, &out).Run(t.Context(), []string{"helm-locker", flag}); err != nil || out.Len() == 0 {
			t.Errorf("%s: %v, %q", flag, err, out.String())
		}
	}
}
