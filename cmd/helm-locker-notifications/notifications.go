package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/bucket"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/notify"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/severity"
)

const categoryNotify, categoryEvidence = "Notifications", "Evidence"

const notificationsName = "notifications"

// run runs a command line until it ends or ctx does, and returns the exit code. It needs no command.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return command.Run(ctx, root(stdout, stderr), args, notificationsName, stderr)
}

func root(stdout, stderr io.Writer) *cli.Command {
	const description = "It reads the events of operators that run with --events, and sends them to the receivers of its flags."
	list := func() []*cli.Command { return []*cli.Command{notificationsCommand(stderr)} }
	return command.Processes(description, stdout, stderr, list)
}

func notificationsCommand(stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: notificationsName, Category: command.CategoryProcesses,
		Usage: "send notifications, until it is told to stop",
		Description: "It reads the events of operators that run with `--events`, finds them by their Leases, and goes on where it " +
			"was when it starts again. Every flag has an environment variable.",
		Flags: slices.Concat(notifyFlags(), evidenceFlags(), readerFlags()),
		// A comma may be part of a URL.
		DisableSliceFlagSeparator: true,
		Action: command.NoArguments(func(ctx context.Context, cmd *cli.Command) error {
			return runNotifications(ctx, cmd, stderr)
		}),
	}
}

// readerFlags are the flags that the operator has as well, and one more.
func readerFlags() []cli.Flag {
	flags := command.Pick(slices.Concat(command.ConnectionFlags(), command.ServeFlags()), "kubeconfig", "namespace",
		"controller-name", "shard-selector", "metrics-address", "health-address", "log-level", "log-format", "debug",
		"debug-level")
	return append(flags, &cli.StringFlag{Name: "state", Sources: cli.EnvVars("HELM_LOCKER_STATE"),
		Category: command.CategoryBehaviour,
		Usage:    "`NAME` of the ConfigMap, in the operators' namespace, that keeps which events were read; the controller name with -notifications without it"})
}

// notifyFlags are the flags of the receivers. Defaults that may hold a secret are not shown: the help text would print
// the environment, which is only read when the command is run.
func notifyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "notify-url", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_URL"),
			Category: categoryNotify, HideDefault: true,
			Usage: "http or https URL to POST a message to for each drift, change of a lock, and fight; may be repeated (in the environment: separated by spaces)"},
		command.OneOf(&cli.StringFlag{Name: "notify-format", Value: notify.FormatCloudEvents,
			Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_FORMAT"), Category: categoryNotify,
			Usage: "cloudevents, json, slack or teams"}, notify.Formats()...),
		&cli.StringFlag{Name: "notify-template-file", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_TEMPLATE_FILE"),
			Category: categoryNotify,
			Usage:    "file with a Go template that makes the body of a notification, instead of --notify-format"},
		command.OneOf(&cli.StringFlag{Name: "notify-severity", Value: string(severity.Low),
			Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_SEVERITY"), Category: categoryNotify,
			Usage: "send drift of this `SEVERITY` or above only: low, medium or high; #severity=high at the end of a URL is for that receiver, and #namespace=team-*,shop sends it messages about releases in these namespaces only"},
			severity.Levels()...),
		&cli.StringFlag{Name: "notify-cluster", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_CLUSTER"), Category: categoryNotify,
			Usage: "`NAME` of the cluster in each message"},
		&cli.StringFlag{Name: "severities", Sources: cli.EnvVars("HELM_LOCKER_SEVERITIES"), Category: categoryNotify,
			Usage: "rate drift by the rules in this `FILE` instead of the built-in ones"},
		&cli.StringFlag{Name: "notify-ca-file", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_CA_FILE"),
			Category: categoryNotify,
			Usage:    "PEM file of certificate authorities to trust, beside the system's, when notifications are sent"},
		&cli.StringFlag{Name: "notify-token-file", Sources: cli.EnvVars("HELM_LOCKER_NOTIFY_TOKEN_FILE"),
			Category: categoryNotify,
			Usage:    "file with a bearer token to send with notifications; it is read again when it changes"},
	}
}

// evidenceFlags are the flags of the files of evidence.
func evidenceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "evidence-dir", Sources: cli.EnvVars("HELM_LOCKER_EVIDENCE_DIR"),
			Category: categoryEvidence,
			Usage:    "append all events to files in this `DIRECTORY`, each line with the digest of the one before; needs the right to list HelmReleases"},
		&cli.StringFlag{Name: "evidence-cluster", Sources: cli.EnvVars("HELM_LOCKER_EVIDENCE_CLUSTER"),
			Category: categoryEvidence, Usage: "`NAME` of the cluster in the evidence"},
		&cli.StringFlag{Name: "evidence-bucket", Sources: cli.EnvVars("HELM_LOCKER_EVIDENCE_BUCKET"),
			Category: categoryEvidence,
			Usage:    "copy each file to `s3://BUCKET/PREFIX`, under the name of the cluster; files end after an hour then; the key is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		&cli.StringFlag{Name: "evidence-bucket-endpoint", Sources: cli.EnvVars("HELM_LOCKER_EVIDENCE_BUCKET_ENDPOINT"),
			Category: categoryEvidence, Value: "https://s3.amazonaws.com", Usage: "https `URL` of the bucket's server"},
		&cli.StringFlag{Name: "evidence-bucket-region", Sources: cli.EnvVars("HELM_LOCKER_EVIDENCE_BUCKET_REGION"),
			Category: categoryEvidence, Value: "us-east-1", Usage: "`REGION` of the bucket"},
		&cli.StringFlag{Name: "evidence-bucket-ca-file", Sources: cli.EnvVars("HELM_LOCKER_EVIDENCE_BUCKET_CA_FILE"),
			Category: categoryEvidence, TakesFile: true,
			Usage: "PEM `FILE` of certificate authorities to trust, beside the system's, for the bucket's server"},
	}
}

func urls(cmd *cli.Command) []string {
	return strings.Fields(strings.Join(cmd.StringSlice("notify-url"), " "))
}

func notifyOptions(cmd *cli.Command) notify.Options {
	return notify.Options{
		URLs: urls(cmd), Format: cmd.String("notify-format"),
		TemplateFile: cmd.String("notify-template-file"), CAFile: cmd.String("notify-ca-file"),
		TokenFile: cmd.String("notify-token-file"),
		Severity:  severity.Level(cmd.String("notify-severity")), SeveritiesFile: cmd.String("severities"),
		Cluster: cmd.String("notify-cluster"),
	}
}

// runNotifications sends notifications until the context ends.
func runNotifications(ctx context.Context, cmd *cli.Command, stderr io.Writer) error {
	log, err := process.NewLogger(stderr, command.LogLevel(cmd), cmd.String("log-format"))
	if err != nil {
		return err
	}
	command.QuietLibraries(log)
	return notify.Run(ctx, notify.RunOptions{
		Options: notifyOptions(cmd), ClientConfig: kubeconfig.GetNonInteractiveClientConfig(cmd.String("kubeconfig")),
		Namespace: cmd.String("namespace"), ControllerName: cmd.String("controller-name"),
		Evidence: notify.EvidenceOptions{
			Directory: cmd.String("evidence-dir"), Cluster: cmd.String("evidence-cluster"),
			Bucket: bucket.Options{URL: cmd.String("evidence-bucket"), Endpoint: cmd.String("evidence-bucket-endpoint"),
				Region: cmd.String("evidence-bucket-region")},
			BucketCAFile: cmd.String("evidence-bucket-ca-file"),
		},
		ShardSelector: cmd.String("shard-selector"), State: cmd.String("state"),
		MetricsAddress: cmd.String("metrics-address"), HealthAddress: cmd.String("health-address"), Log: log,
	})
}
