// Package cli is the command line: without a command it turns flags and the environment into options of the
// operator and runs it; its commands show and change what is locked.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/version"
)

// Categories of commands in the help text.
const (
	categoryLook   = "Look"
	categoryChange = "Change"
)

// Main runs a command line, args[0] being the program's name, until it ends or ctx does. It prints errors to stderr and
// returns the exit code.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd := New(args, stdin, stdout, stderr)
	err := cmd.Run(ctx, args)
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

// New returns the helm-locker command for a command line, args[0] being the name that it was called by. Without a
// command in it, it runs the operator until the context ends.
func New(args []string, stdin io.Reader, stdout, stderr io.Writer) *cli.Command {
	a := newApp(programName(args), stdin, stdout, stderr)
	cmd := &cli.Command{
		Name:    a.name,
		Usage:   "makes Helm the only way to change what a Helm release deployed",
		Version: version.String(),
		Description: "Without a command it runs the operator: every Helm release that a HelmRelease names is locked while it is\n" +
			"deployed, and whatever is changed by anyone but Helm is put back. The flags below are for the operator.\n" +
			"The commands show and change what is locked; diff and inspect work without an operator, too.",
		Writer: stdout, ErrWriter: stderr, Reader: stdin,
		Flags: operatorFlags(!commandGiven(args)),
		// A comma may be part of a URL.
		DisableSliceFlagSeparator: true,
		Commands: []*cli.Command{
			a.diffCommand(), a.statusCommand(), a.inspectCommand(), a.rbacCommand(), a.lockCommand(), a.unlockCommand(),
			a.suspendCommand(), a.resumeCommand(), a.migrateCommand(),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			// An argument is most likely a misspelt command; starting the operator is not what was meant.
			if cmd.Args().Present() {
				return unknownCommand(cmd, cmd.Args().First())
			}
			if a.name != programBase {
				return cli.ShowRootCommandHelp(cmd) // a plugin of kubectl or Helm, whose user wants no operator
			}
			return runOperator(ctx, cmd, stderr)
		},
		Suggest:               true,
		EnableShellCompletion: true,
		ConfigureShellCompletionCommand: func(c *cli.Command) {
			c.Hidden, c.Category = false, "Set up"
			c.Usage = "print a script that completes commands and flags in bash, zsh, fish or PowerShell"
		},
		// main chooses the exit code and prints errors.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError:   usageError,
	}
	completions := map[string]cli.ShellCompleteFunc{
		"diff": a.completeWith(releaseNames, 1), "inspect": a.completeWith(releaseNames, 1),
		"lock":   a.completeWith(releaseNames, 1),
		"unlock": a.completeWith(lockedNames, 1), "suspend": a.completeWith(lockedNames, 1),
		"resume":  a.completeWith(lockedNames, 1),
		"migrate": a.completeWith(lockedNames, 0), "status": a.completeWith(statusNames, 1),
	}
	for _, sub := range cmd.Commands {
		sub.ShellComplete = completions[sub.Name]
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

// usageError replaces the whole help text, under which the error would not be found.
func usageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	return &hintError{err: err, hints: []string{"see " + cmd.FullName() + " --help"}}
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
