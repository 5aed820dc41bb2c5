// Package cli is the command line for users: its commands show and change locks.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
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
	args, err := command.Arrange(cmd, args, "")
	if err == nil {
		err = cmd.Run(ctx, args)
	}
	code := exitCode(err)
	if code == command.ExitFailed && errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if messageOf(err) != "" {
		fmt.Fprintln(stderr, explain(cmd.Name, err))
	}
	return code
}

// programName returns how the program is called: by kubectl and Helm it is a plugin.
func programName(args []string) string {
	base := ""
	if len(args) > 0 {
		base = strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	}
	switch {
	case len(args) > 1 && args[1] == "completion":
		return command.Program // the names of functions in the scripts
	case base == "kubectl-helm_locker":
		return "kubectl helm-locker"
	case os.Getenv("HELM_BIN") != "" && os.Getenv("HELM_PLUGIN_NAME") == pluginName:
		return "helm " + pluginName
	}
	return command.Program
}

// pluginName is the name of the Helm plugin.
const pluginName = "locker"

// New returns the helm-locker command for a command line; args[0] is the program's name.
func New(args []string, stdin io.Reader, stdout, stderr io.Writer) *cli.Command {
	a := newApp(programName(args), stdin, stdout, stderr)
	cmd := &cli.Command{
		Name:    a.name,
		Usage:   "makes Helm the only way to change what a Helm release deployed",
		Version: version.String(),
		Description: "Every Helm release that a HelmRelease names is locked while it is deployed: the operator puts back whatever is\n" +
			"changed by anyone but Helm. The commands show and change what is locked; diff and inspect work without an\n" +
			"operator, too. Flags mean the same before a command and after it.",
		Writer: stdout, ErrWriter: stderr, Reader: stdin,
		Commands: slices.Concat([]*cli.Command{
			a.diffCommand(), a.valuesCommand(), a.reportCommand(), a.evidenceCommand(),
			a.statusCommand(), a.traceCommand(), a.checkCommand(), a.inspectCommand(),
			a.rbacCommand(), a.policyCommand(),
			a.lockCommand(), a.unlockCommand(), a.suspendCommand(), a.resumeCommand(), a.acceptCommand(),
			a.enforceCommand(), a.migrateCommand(),
		}, processCommands(), []*cli.Command{a.versionCommand()}),
		// A pipeline with a missing command must not pass.
		Action: func(_ context.Context, cmd *cli.Command) error {
			return errors.Join(cli.ShowRootCommandHelp(cmd), &command.ExitError{Code: command.ExitFound})
		},
		Suggest:               true,
		EnableShellCompletion: true,
		ConfigureShellCompletionCommand: func(c *cli.Command) {
			c.Hidden, c.Category = false, categorySetUp
			c.Usage = "print a script that completes commands and flags in bash, zsh, fish or PowerShell"
			for _, shell := range c.Commands {
				if shell.Name == "bash" {
					shell.Action = withoutPackage(shell.Action)
				}
			}
		},
		// main chooses the exit code and prints errors.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError:   command.UsageError,
	}
	completions := map[string]cli.ShellCompleteFunc{
		"diff": a.completeWith(releaseNames, 0), "report": a.completeWith(releaseNames, 0),
		"inspect": a.completeWith(releaseNames, 1), "values": a.completeWith(releaseNames, 1), "lock": a.completeWith(releaseNames, 0),
		"unlock": a.completeWith(lockedNames, 0), "suspend": a.completeWith(lockedNames, 0),
		"resume":  a.completeWith(lockedNames, 0),
		"accept":  a.completeWith(lockedNames, 0),
		"enforce": a.completeWith(lockedNames, 0),
		"policy":  a.completeWith(policyArguments, 2),
		"trace":   a.completeWith(tracedNames, 2),
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
	cmd.Commands = append(cmd.Commands, referenceCommand(stdout), a.renderCommand())
	return cmd
}

// needed returns the arguments of a command, exactly one for each element of what, their names.
func needed(cmd *cli.Command, what ...string) ([]string, error) {
	args := cmd.Args().Slice()
	switch {
	case len(args) < len(what):
		return nil, command.UsageError(context.Background(), cmd, fmt.Errorf("%s is missing", what[len(args)]), true)
	case len(args) > len(what):
		err := fmt.Errorf("unexpected argument %q", args[len(what)])
		return nil, command.UsageError(context.Background(), cmd, err, true)
	}
	return args, nil
}
