package daemon

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v3"
)

// movedFlags are former flags of the operator, now of the program for notifications. The operator accepts them, so that
// its error can name the program.
func movedFlags() []cli.Flag {
	flags := []cli.Flag{&cli.StringSliceFlag{Name: "notify-url", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_URL"),
		HideDefault: true, Hidden: true}}
	for _, name := range []string{"notify-format", "notify-template-file", "notify-ca-file", "notify-token-file"} {
		flags = append(flags, &cli.StringFlag{Name: name, Hidden: true})
	}
	return flags
}

// refuseMoved returns an error for an operator that is configured to send notifications itself.
func refuseMoved(cmd *cli.Command) error {
	if strings.TrimSpace(strings.Join(cmd.StringSlice("notify-url"), "")) == "" {
		return nil
	}
	return errors.New("--notify-url (HELM_LOCKER_NOTIFY_URL): the operator sends no notifications; run " +
		"`helm-locker notifications` with the same --notify flags beside it, and the operator with --events " +
		"(docs/notifications.md)")
}
