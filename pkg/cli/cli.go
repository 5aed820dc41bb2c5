// Package cli is the command line: one command turns flags and the environment into options of the operator and runs
// it; the others show and change what is locked.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/version"
)

// Categories of commands in the help text.
const (
	categoryLook   = "Look"
	categoryChange = "Change"
	categorySetUp  = "Set up"
)

// Main runs a command line, args[0] being the program's name, until it ends or ctx does. It prints errors to stderr and
// returns the exit code.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd := New(args, stdin, stdout, stderr)
	// A pager or grep may read the output. In a container there may be a terminal, too, but no one to read help.
	terminal := isTerminal(stdin) || isTerminal(stdout)
	args, err := arrange(cmd, args, terminal && os.Getenv("KUBERNETES_SERVICE_HOST") == "")
	if err == nil {
		err = cmd.Run(ctx, args)
	}
	if err == nil {
		return exitOK
	}
	var code *exitError
	if errors.As(err, &code) {
		return code.code
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	fmt.Fprintln(stderr, explain(cmd.Name, err))
	return exitFailed
}

// programName returns how the program is called: by kubectl and Helm it is a plugin.
func programName(args []string) string {
	base := ""
	if len(args) > 0 {
		base = strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	}
	switch {
	case len(args) > 1 && args[1] == "completion":
		return programBase // the names of functions in the scripts
	case base == "kubectl-helm_locker":
		return "kubectl helm-locker"
	case os.Getenv("HELM_BIN") != "" && os.Getenv("HELM_PLUGIN_NAME") == pluginName:
		return "helm " + pluginName
	}
	return programBase
}

// Names of the program, and of the Helm plugin.
const (
	programBase = "helm-locker"
	pluginName  = "locker"
)

// New returns the helm-locker command for a command line, args[0] being the name that it was called by.
func New(args []string, stdin io.Reader, stdout, stderr io.Writer) *cli.Command {
	a := newApp(programName(args), stdin, stdout, stderr)
	cmd := &cli.Command{
		Name:    a.name,
		Usage:   "makes Helm the only way to change what a Helm release deployed",
		Version: version.String(),
		Description: "Every Helm release that a HelmRelease names is locked while it is deployed: the operator puts back whatever is\n" +
			"changed by anyone but Helm. The other commands show and change what is locked; diff and inspect work without\n" +
			"an operator, too. Flags mean the same before a command and after it. Without a command and outside of a\n" +
			"terminal, as in a container, the program is the operator.",
		Writer: stdout, ErrWriter: stderr, Reader: stdin,
		Commands: []*cli.Command{
			a.diffCommand(), a.reportCommand(), a.statusCommand(), a.checkCommand(), a.inspectCommand(),
			a.rbacCommand(), a.policyCommand(),
			a.lockCommand(), a.unlockCommand(), a.suspendCommand(), a.resumeCommand(), a.migrateCommand(),
			operatorCommand(stderr), versionCommand(stdout),
		},
		Action:                func(_ context.Context, cmd *cli.Command) error { return cli.ShowRootCommandHelp(cmd) },
		Suggest:               true,
		EnableShellCompletion: true,
		ConfigureShellCompletionCommand: func(c *cli.Command) {
			c.Hidden, c.Category = false, categorySetUp
			c.Usage = "print a script that completes commands and flags in bash, zsh, fish or PowerShell"
		},
		// main chooses the exit code and prints errors.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError:   usageError,
	}
	completions := map[string]cli.ShellCompleteFunc{
		"diff": a.completeWith(releaseNames, 0), "report": a.completeWith(releaseNames, 0),
		"inspect": a.completeWith(releaseNames, 1), "lock": a.completeWith(releaseNames, 0),
		"unlock": a.completeWith(lockedNames, 0), "suspend": a.completeWith(lockedNames, 0),
		"resume":  a.completeWith(lockedNames, 0),
		"policy":  a.completeWith(policyArguments, 2),
		"migrate": a.completeWith(lockedNames, 0), "status": a.completeWith(statusNames, 1),
	}
	for _, sub := range cmd.Commands {
		if sub.ShellComplete = completions[sub.Name]; sub.ShellComplete == nil {
			sub.ShellComplete = a.completeWith(nil, -1)
		}
		sub.OnUsageError = usageError
		sub.HideHelpCommand = true
		if lines := examplesOf(sub); len(lines) > 0 {
			sub.Description += "\n\nExamples:\n  " + a.name + " " + strings.Join(lines, "\n  "+a.name+" ")
			sub.Description = strings.TrimPrefix(sub.Description, "\n\n")
		}
	}
	cmd.Commands = append(cmd.Commands, referenceCommand(stdout))
	return cmd
}

func unknownCommand(cmd *cli.Command, name string) error {
	hint := ""
	if similar := cli.SuggestCommand(cmd.Commands, name); similar != "" && similar[0] == name[0] {
		hint = fmt.Sprintf("did you mean %q? ", similar)
	}
	return &hintError{
		err:   fmt.Errorf("unknown command %q", name),
		hints: []string{hint + "see " + cmd.Root().Name + " --help for all commands"},
	}
}

// flagInError is how the library names a long flag in an error.
var flagInError = regexp.MustCompile(`(for flag |not defined: )-([\w-]{2,})`)

// usageError replaces the whole help text, under which the error would not be found.
func usageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	hint := ""
	if _, name, unknown := strings.Cut(err.Error(), "flag provided but not defined: -"); unknown {
		if similar := cli.SuggestFlag(cmd.Flags, name, true); strings.HasPrefix(similar, "--") {
			hint = fmt.Sprintf("did you mean %s? ", similar)
		}
	}
	return &hintError{
		err:   errors.New(flagInError.ReplaceAllString(err.Error(), "$1--$2")),
		hints: []string{hint + "see " + cmd.FullName() + " --help"},
	}
}

func versionCommand(out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "version", Category: categorySetUp, Usage: "print the version",
		Action: func(context.Context, *cli.Command) error {
			_, err := fmt.Fprintln(out, programBase, version.String())
			return err
		},
	}
}

// needed returns the arguments of a command, which must be one each; what lists them in words.
func needed(cmd *cli.Command, what ...string) ([]string, error) {
	args := cmd.Args().Slice()
	switch {
	case len(args) < len(what):
		return nil, usageError(context.Background(), cmd, fmt.Errorf("%s is missing", what[len(args)]), true)
	case len(args) > len(what):
		return nil, usageError(context.Background(), cmd, fmt.Errorf("unexpected argument %q", args[len(what)]), true)
	}
	return args, nil
}
