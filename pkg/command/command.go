// Package command has the shared parts of this module's command lines: those of the processes in a cluster (pkg/daemon,
// cmd/helm-locker-notifications) and the one for users (pkg/cli).
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/version"
)

// Program is the name of the program, in its help and in its errors.
const Program = "helm-locker"

// Exit codes of the programs.
const (
	ExitOK     = 0
	ExitFailed = 1
	// ExitFound is the exit code of diff for drift, of check for a problem, and of a command line without a command.
	ExitFound = 2
	// ExitEmpty is the exit code for arguments and flags that select nothing.
	ExitEmpty = 5
)

// ExitError ends a program with an exit code, and with the message of Err if there is one.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

func (e *ExitError) Unwrap() error { return e.Err }

// HintError is an error with advice on the next step.
type HintError struct {
	Err error
	// Hints are printed on a line each.
	Hints []string
}

func (e *HintError) Error() string { return e.Err.Error() }
func (e *HintError) Unwrap() error { return e.Err }

// Hinted returns err with advice.
func Hinted(err error, hints ...string) error { return &HintError{Err: err, Hints: hints} }

// Unknown returns the error for a name that is no command of cmd.
func Unknown(cmd *cli.Command, name string) error {
	hint := ""
	if similar := cli.SuggestCommand(cmd.Commands, name); similar != "" && similar[0] == name[0] {
		hint = fmt.Sprintf("did you mean %q? ", similar)
	}
	return Hinted(fmt.Errorf("unknown command %q", name), hint+"see "+cmd.Root().Name+" --help for all commands")
}

// flagInError matches a long flag in an error of the library.
var flagInError = regexp.MustCompile(`(for flag |not defined: )-([\w-]{2,})`)

// UsageError is a cli.OnUsageErrorFunc. It returns the error with a pointer to the help text. The library would print
// the whole text below the error.
func UsageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	hint := ""
	if _, name, unknown := strings.Cut(err.Error(), "flag provided but not defined: -"); unknown {
		if similar := cli.SuggestFlag(cmd.Flags, name, true); strings.HasPrefix(similar, "--") {
			hint = fmt.Sprintf("did you mean %s? ", similar)
		}
	}
	return Hinted(errors.New(flagInError.ReplaceAllString(err.Error(), "$1--$2")), hint+"see "+cmd.FullName()+" --help")
}

// Choice is a flag with a closed list of values.
type Choice struct {
	*cli.StringFlag
	Values []string
}

// OneOf makes a flag refuse all values but the listed ones, which may be written in upper or lower case. Shells
// complete these.
func OneOf(flag *cli.StringFlag, values ...string) cli.Flag {
	listed := func(value string) int {
		return slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, value) })
	}
	flag.Validator = func(value string) error {
		if listed(value) >= 0 {
			return nil
		}
		return fmt.Errorf("%q is none of %s", value, strings.Join(values, ", "))
	}
	flag.Action = func(_ context.Context, cmd *cli.Command, value string) error {
		return cmd.Set(flag.Name, values[listed(value)])
	}
	return &Choice{flag, values}
}

// Version returns the command that prints the version to out.
func Version(category string, out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "version", Category: category, Usage: "print the version",
		Action: func(context.Context, *cli.Command) error {
			_, err := fmt.Fprintln(out, Program, version.String())
			return err
		},
	}
}
