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

// operatorProgram is the name of the program with the processes of a cluster.
const operatorProgram = "helm-locker-operator"

// processCommands run the processes of a cluster. Those are commands of a program of their own.
func processCommands() []*cli.Command {
	return []*cli.Command{
		processCommand("operator", "run the operator: the program "+operatorProgram),
		processCommand("policies", "follow HelmReleasePolicies: the program "+operatorProgram),
		processCommand("page", "serve the status page: the program "+operatorProgram),
		processCommand("notifications", "send notifications of what the operator does: the program "+operatorProgram),
	}
}

func processCommand(name, usage string) *cli.Command {
	return &cli.Command{
		Name: name, Category: categorySetUp, Usage: usage,
		Description: "The program is looked for beside this one, and in the PATH. It gets all arguments; " + operatorProgram +
			"\n" + name + " --help lists them.",
		SkipFlagParsing: true,
		Action: func(_ context.Context, cmd *cli.Command) error {
			path, err := findOperator()
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

// findOperator returns the path of the operator's program.
func findOperator() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), operatorProgram)); err == nil {
		return path, nil
	}
	return exec.LookPath(operatorProgram)
}
