package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/notify"
	"github.com/rancher/helm-locker/pkg/process"
)

const categoryNotify = "Notifications"

const notificationsName = "notifications"

func notificationsCommand(stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: notificationsName, Category: category, Usage: "send notifications, until it is told to stop",
		Description: "It reads the events of operators that run with `--events`, finds them by their Leases, and goes on where it " +
			"was when it starts again. Every flag has an environment variable.",
		Flags: slices.Concat(notifyFlags(), readerFlags()),
		// A comma may be part of a URL.
		DisableSliceFlagSeparator: true,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return command.UsageError(ctx, cmd, fmt.Errorf("unexpected argument %q", cmd.Args().First()), true)
			}
			return runNotifications(ctx, cmd, stderr)
		},
	}
}

// readerFlags are the flags shared with the operator, and one more.
func readerFlags() []cli.Flag {
	flags := pick(slices.Concat(classicFlags(), serveFlags()), "kubeconfig", "namespace", "controller-name",
		"shard-selector", "metrics-address", "health-address", "log-level", "log-format", "debug", "debug-level")
	return append(flags, &cli.StringFlag{Name: "state", Sources: cli.EnvVars("HELM_LOCKER_STATE"), Category: categoryMore,
		Usage: "`NAME` of the ConfigMap, in the operators' namespace, that keeps which events were read; the controller name with -notifications without it"})
}

// notifyFlags are the flags of the receivers. Defaults that may hold a secret are not shown: the help text would print
// the environment, which is only read when the command is run.
func notifyFlags() []cli.Flag {
	return []cli.Flag{
		notifyURLFlag(false),
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

func notifyURLFlag(hidden bool) cli.Flag {
	return &cli.StringSliceFlag{Name: "notify-url", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_URL"), Category: categoryNotify,
		HideDefault: true, Hidden: hidden,
		Usage: "http or https URL to POST a message to for each drift, change of a lock, and fight; may be repeated (in the environment: separated by spaces)"}
}

// movedFlags are former flags of the operator, now of the command notifications. The operator accepts them, so that its
// error can name the command.
func movedFlags() []cli.Flag {
	flags := []cli.Flag{notifyURLFlag(true)}
	for _, name := range []string{"notify-format", "notify-template-file", "notify-ca-file", "notify-token-file"} {
		flags = append(flags, &cli.StringFlag{Name: name, Category: categoryNotify, Hidden: true,
			Usage: "see helm-locker notifications"})
	}
	return flags
}

// refuseMoved returns an error for an operator that is configured to send notifications itself.
func refuseMoved(cmd *cli.Command) error {
	if len(urls(cmd)) == 0 {
		return nil
	}
	return errors.New("--notify-url (HELM_LOCKER_NOTIFY_URL): the operator sends no notifications; run " +
		"`helm-locker notifications` with the same --notify flags beside it, and the operator with --events " +
		"(docs/notifications.md)")
}

func urls(cmd *cli.Command) []string {
	return strings.Fields(strings.Join(cmd.StringSlice("notify-url"), " "))
}

func notifyOptions(cmd *cli.Command) notify.Options {
	return notify.Options{
		URLs: urls(cmd), Format: cmd.String("notify-format"),
		TemplateFile: cmd.String("notify-template-file"), CAFile: cmd.String("notify-ca-file"),
		TokenFile: cmd.String("notify-token-file"),
	}
}

// runNotifications sends notifications until the context ends.
func runNotifications(ctx context.Context, cmd *cli.Command, stderr io.Writer) error {
	log, err := process.NewLogger(stderr, level(cmd), cmd.String("log-format"))
	if err != nil {
		return err
	}
	quietLibraries(log)
	return notify.Run(ctx, notify.RunOptions{
		Options: notifyOptions(cmd), ClientConfig: kubeconfig.GetNonInteractiveClientConfig(cmd.String("kubeconfig")),
		Namespace: cmd.String("namespace"), ControllerName: cmd.String("controller-name"),
		ShardSelector: cmd.String("shard-selector"), State: cmd.String("state"),
		MetricsAddress: cmd.String("metrics-address"), HealthAddress: cmd.String("health-address"), Log: log,
	})
}
