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

// New returns the helm-locker command for a command line; args[0] is the program's name.
func New(args []string, stdin io.Reader, stdout, stderr io.Writer) *cli.Command {
	a := newAction(programName(args), stdin, stdout, stderr)
	cmd := &cli.Command{
		Name:    a.name,
		Usage:   "makes Helm the only way to change what a Helm release deployed",
		Version: version.String(),
		Description: "Every Helm release that a HelmRelease names is locked while it is deployed: the operator puts back whatever is\n" +
			"changed by anyone but Helm. The commands show and change what is locked; diff and inspect work without an\n" +
			"operator, too. Flags mean the same before a command and after it.",
		Writer: stdout, ErrWriter: stderr, Reader: stdin,
		Commands: slices.Concat([]*cli.Command{
			diffCommand(a), valuesCommand(a), reportCommand(a), evidenceCommand(a),
			statusCommand(a), traceCommand(a), checkCommand(a), inspectCommand(a),
			rbacCommand(a), policyCommand(a),
			lockCommand(a), unlockCommand(a), suspendCommand(a), resumeCommand(a), acceptCommand(a),
			enforceCommand(a), migrateCommand(a),
		}, processCommands(), []*cli.Command{versionCommand(a)}),
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
		"diff": completeWith(a, releaseNames, 0), "report": completeWith(a, releaseNames, 0),
		"inspect": completeWith(a, releaseNames, 1), "values": completeWith(a, releaseNames, 1), "lock": completeWith(a, releaseNames, 0),
		"unlock": completeWith(a, lockedNames, 0), "suspend": completeWith(a, lockedNames, 0),
		"resume":  completeWith(a, lockedNames, 0),
		"accept":  completeWith(a, lockedNames, 0),
		"enforce": completeWith(a, lockedNames, 0),
		"policy":  completeWith(a, policyArguments, 2),
		"trace":   completeWith(a, tracedNames, 2),
		"migrate": completeWith(a, lockedNames, 0), "status": completeWith(a, statusNames, 1),
	}
	for _, sub := range cmd.Commands {
		if sub.ShellComplete = completions[sub.Name]; sub.ShellComplete == nil {
			sub.ShellComplete = completeWith(a, nil, -1)
		}
		sub.OnUsageError = usageError
		sub.HideHelpCommand = true
		if lines := examplesOf(sub); len(lines) > 0 {
			sub.Description += "\n\nExamples:\n  " + a.name + " " + strings.Join(lines, "\n  "+a.name+" ")
			sub.Description = strings.TrimPrefix(sub.Description, "\n\n")
		}
	}
	cmd.Commands = append(cmd.Commands, referenceCommand(stdout, func() *cli.Command {
		return New([]string{command.Program}, nil, stdout, stdout)
	}), renderCommand(a))
	return cmd
}
