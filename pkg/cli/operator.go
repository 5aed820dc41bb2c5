package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
)

// Programs with the processes of a cluster.
const (
	operatorProgram      = "helm-locker-operator"
	notificationsProgram = "helm-locker-notifications"
)

// processCommands run the processes of a cluster, which are commands of other programs.
func processCommands() []*cli.Command {
	return []*cli.Command{
		processCommand(operatorProgram, "operator", "run the operator"),
		processCommand(operatorProgram, "policies", "follow HelmReleasePolicies"),
		processCommand(operatorProgram, "teams", "show locks to the teams of their namespaces, and pause them"),
		processCommand(operatorProgram, "page", "serve the status page"),
		processCommand(notificationsProgram, "notifications", "send notifications of what the operator does"),
	}
}

func processCommand(program, name, usage string) *cli.Command {
	return &cli.Command{
		Name: name, Category: categorySetUp, Usage: usage + ": the program " + program,
		Description: "The program is looked for beside this one, and in the PATH. It gets all arguments; " + program +
			"\n" + name + " --help lists them.",
		SkipFlagParsing: true,
		Action: func(_ context.Context, cmd *cli.Command) error {
			path, err := findProgram(program)
			if err != nil {
				return command.Hinted(fmt.Errorf("the processes of a cluster are a program of their own: %w", err),
					"make build builds it; in a cluster, the chart runs its image")
			}
			args := slices.Concat([]string{path, name}, cmd.Args().Slice())
			err = syscall.Exec(path, args, os.Environ()) //nolint:gosec // the program beside this one, or the user's PATH
			return fmt.Errorf("run %s: %w", path, err)
		},
	}
}

// findProgram returns the path of a program.
func findProgram(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
		return path, nil
	}
	return exec.LookPath(name)
}
