package cli

import (
	"context"
	"errors"
	"io"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
)

// quietFlag is the flag that sets app.quiet.
func (a *app) quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Category: categoryOutput,
		Usage: "print only errors, and a question with the drift that it is about",
		Action: func(ctx context.Context, cmd *cli.Command, quiet bool) error {
			if quiet && cmd.String("output") != "" {
				return command.UsageError(ctx, cmd, errors.New("--quiet and --output exclude each other"), true)
			}
			if a.quiet = quiet; quiet {
				a.out, a.errTTY = io.Discard, false // without the progress of comparisons
			}
			return nil
		}}
}

// explainReverts prints what a command is about to do with objects. It is left out with --quiet where no question
// follows.
func (a *app) explainReverts(cmd *cli.Command, text string) (asks bool, err error) {
	asks = !cmd.Bool("dry-run") && !cmd.Bool("yes")
	if asks || !a.quiet {
		_, err = io.WriteString(a.errOut, text)
	}
	return asks, err
}
