// Package daemon is the command line of the program with the operator, the policies, the page and the teams. It turns
// flags and the environment into options, and runs a process with them.
package daemon

import (
	"context"
	"io"
	"os"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/rancher/helm-locker/pkg/command"
)

// Main runs a command line, args[0] being the program's name, until it ends or ctx does. It prints errors to stderr and
// returns the exit code. A command line without a command is the operator's, as the image starts it.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fallback := operatorName
	if len(args) < 2 && (isTerminal(stdin) || isTerminal(stdout)) && os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		fallback = "" // a pager may read the output; in a container there may be a terminal, and nobody who reads
	}
	return command.Run(ctx, New(stdout, stderr), args, fallback, stderr)
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// New returns the command of the program.
func New(stdout, stderr io.Writer) *cli.Command {
	return command.Processes("Every Helm release that a HelmRelease names is locked while it is deployed: the operator puts back "+
		"whatever is\nchanged by anyone but Helm. Without a command, the program is the operator. Notifications, and the commands "+
		"for\npeople, are programs of their own: make build builds all.", stdout, stderr, func() []*cli.Command {
		return []*cli.Command{operatorCommand(stderr), policiesCommand(stderr), pageCommand(stderr),
			teamsCommand(stderr)}
	})
}
