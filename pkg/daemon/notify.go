package daemon

import (
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/notify"
)

const categoryNotify = "Notifications"

// notifyFlags are the flags that say who is told what the operator does. Defaults that may hold what is secret are not
// shown: the help text would print the environment, which is only read when the operator is run.
func notifyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "notify-url", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_URL"), Category: categoryNotify,
			HideDefault: true,
			Usage:       "http or https URL to POST a message to for each drift, change of a lock, and fight; may be repeated (in the environment: separated by spaces)"},
		command.OneOf(&cli.StringFlag{Name: "notify-format", Value: notify.FormatCloudEvents,
			Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_FORMAT"), Category: categoryNotify,
			Usage: "cloudevents, json, slack or teams"}, notify.Formats()...),
		&cli.StringFlag{Name: "notify-template-file", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_TEMPLATE_FILE"),
			Category: categoryNotify,
			Usage:    "file with a Go template that makes the body of a notification, instead of --notify-format"},
		&cli.StringFlag{Name: "notify-ca-file", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_CA_FILE"), Category: categoryNotify,
			Usage: "PEM file of certificate authorities to trust, beside the system's, when notifications are sent"},
		&cli.StringFlag{Name: "notify-token-file", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_TOKEN_FILE"),
			Category: categoryNotify,
			Usage:    "file with a bearer token to send with notifications; it is read again when it changes"},
	}
}

func notifyOptions(cmd *cli.Command) notify.Options {
	return notify.Options{
		URLs: strings.Fields(strings.Join(cmd.StringSlice("notify-url"), " ")), Format: cmd.String("notify-format"),
		TemplateFile: cmd.String("notify-template-file"), CAFile: cmd.String("notify-ca-file"),
		TokenFile: cmd.String("notify-token-file"),
	}
}
