// Package daemon is the command line of the processes in a cluster. It turns flags and the environment into options,
// and runs a process with them.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/version"
)

// category is the category of the commands in the help text.
const category = "Processes"

// Main runs a command line, args[0] being the program's name, until it ends or ctx does. It prints errors to stderr and
// returns the exit code. A command line without a command is the operator's, as the image starts it.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd := New(stdout, stderr)
	fallback := operatorName
	if len(args) < 2 && (isTerminal(stdin) || isTerminal(stdout)) && os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		fallback = "" // a pager may read the output; in a container there may be a terminal, and nobody who reads
	}
	args, err := command.Arrange(cmd, args, fallback)
	if err == nil {
		err = cmd.Run(ctx, args)
	}
	if err == nil {
		return command.ExitOK
	}
	lines := []string{command.Program + ": " + plain.Line(err.Error())}
	var advised *command.HintError
	if errors.As(err, &advised) {
		for _, hint := range advised.Hints {
			lines = append(lines, plain.Line(hint))
		}
	}
	fmt.Fprintln(stderr, strings.Join(lines, "\n  "))
	return command.ExitFailed
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// New returns the command of the program.
func New(stdout, stderr io.Writer) *cli.Command {
	root := &cli.Command{
		Name:    command.Program,
		Usage:   "makes Helm the only way to change what a Helm release deployed",
		Version: version.String(),
		Description: "Every Helm release that a HelmRelease names is locked while it is deployed: the operator puts back whatever is\n" +
			"changed by anyone but Helm. Without a command, the program is the operator. The commands for people are a program\n" +
			"of their own, of the same name: make build builds both.",
		Writer: stdout, ErrWriter: stderr,
		Commands: []*cli.Command{operatorCommand(stderr), policiesCommand(stderr), notificationsCommand(stderr),
			pageCommand(stderr),
			command.Version(category, stdout)},
		Action:  func(_ context.Context, cmd *cli.Command) error { return cli.ShowRootCommandHelp(cmd) },
		Suggest: true,
		// Main chooses the exit code and prints errors.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError:   command.UsageError,
	}
	for _, sub := range root.Commands {
		sub.OnUsageError = command.UsageError
		sub.HideHelpCommand = true
	}
	root.Commands = append(root.Commands, referenceCommand(stdout))
	return root
}

// referenceCommand prints the reference of the processes' flags as Markdown.
func referenceCommand(out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "reference", Hidden: true, HideHelpCommand: true,
		Usage: "print the reference of all processes as Markdown",
		Action: func(_ context.Context, _ *cli.Command) error {
			root := New(out, out) // a root that no command line and no environment has touched
			var b strings.Builder
			for _, cmd := range root.Commands {
				if cmd.Hidden || len(cmd.Flags) == 0 {
					continue
				}
				fmt.Fprintf(&b, "## %s %s\n\n%s. %s\n\n",
					command.Program, cmd.Name, command.Sentence(cmd.Usage), cmd.Description)
				command.FlagTable(&b, cmd.VisibleFlags())
			}
			_, err := io.WriteString(out, strings.TrimRight(b.String(), "\n")+"\n")
			return err
		},
	}
}
