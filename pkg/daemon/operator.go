package daemon

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/release"
)

// Categories of the operator's flags in the help text.
const (
	categoryClassic = "Operator"
	categoryServe   = "Observability"
	categoryMore    = "Behaviour"
)

const operatorName = "operator"

func operatorCommand(stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: operatorName, Category: category, Usage: "run the operator, until it is told to stop",
		Description: "Every flag has an environment variable.",
		Flags: slices.Concat(classicFlags(), serveFlags(), behaviourFlags(), guardFlags(), movedFlags(),
			pageFlags(true)),
		// A comma may be part of a URL.
		DisableSliceFlagSeparator: true,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return command.UsageError(ctx, cmd, fmt.Errorf("unexpected argument %q", cmd.Args().First()), true)
			}
			return runOperator(ctx, cmd, stderr)
		},
	}
}

func classicFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Aliases: []string{"k"}, Sources: cli.EnvVars("KUBECONFIG"),
			Category: categoryClassic,
			Usage:    "kubeconfig file; in a cluster the service account is used without one"},
		&cli.StringFlag{Name: "namespace", Value: operator.DefaultNamespace, Sources: cli.EnvVars("NAMESPACE"),
			Category: categoryClassic,
			Usage:    "namespace whose HelmReleases count"},
		&cli.StringFlag{Name: "controller-name", Value: operator.DefaultControllerName,
			Sources: cli.EnvVars("CONTROLLER_NAME"), Category: categoryClassic,
			Usage: "name that claims HelmReleases for this operator; operators of different names share a cluster"},
		&cli.StringFlag{Name: "shard-selector", Sources: cli.EnvVars("SHARD_SELECTOR"), Category: categoryMore,
			Usage: "labels of the HelmReleases to manage, as kubectl --selector takes them; operators of one name share a namespace that way"},
		&cli.StringFlag{Name: "node-name", Sources: cli.EnvVars("NODE_NAME"), Category: categoryClassic,
			Usage: "name of the node that this operator runs on"},
	}
}

func serveFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "pprof", Aliases: []string{"p"}, Sources: cli.EnvVars("PPROF"), Category: categoryServe,
			Usage: "serve Go profiles on localhost:6060"},
		&cli.StringFlag{Name: "metrics-address", Value: ":8080", Sources: cli.EnvVars("METRICS_ADDRESS"),
			Category: categoryServe,
			Usage:    "address of /metrics; 0 for none"},
		&cli.StringSliceFlag{Name: "metrics-host", Sources: cli.EnvVars("METRICS_HOST"), Category: categoryServe,
			Usage: "host `NAME` by which the metrics may be asked for, beside addresses, localhost and names inside of the cluster; may be repeated"},
		&cli.BoolFlag{Name: "metrics-auth", Sources: cli.EnvVars("METRICS_AUTH"), Category: categoryServe,
			Usage: "serve /metrics only to users who may get that path (nonResourceURLs), by their bearer token"},
		&cli.BoolFlag{Name: "events", Sources: cli.EnvVars("EVENTS"), Category: categoryServe,
			Usage: "serve what the operator does at /events of the metrics address, over TLS, to users who may get that path (nonResourceURLs), by their bearer token"},
		&cli.StringFlag{Name: "health-address", Value: ":8081", Sources: cli.EnvVars("HEALTH_ADDRESS"), Category: categoryServe,
			Usage: "address of /healthz and /readyz; 0 for none"},
		&cli.StringFlag{Name: "log-level", Value: "info", Sources: cli.EnvVars("LOG_LEVEL"), Category: categoryServe,
			Usage: "error, warn, info, debug (why each object was judged as it was, each check and write) " +
				"or trace (each event and request)"},
		&cli.StringFlag{Name: "log-format", Value: "text", Sources: cli.EnvVars("LOG_FORMAT"), Category: categoryServe,
			Usage: "text or json"},
		&cli.BoolFlag{Name: "debug", Sources: cli.EnvVars("DEBUG"), Category: categoryServe, Usage: "log at level debug"},
		&cli.IntFlag{Name: "debug-level", Sources: cli.EnvVars("DEBUG_LEVEL"), Category: categoryServe,
			Usage: "with --debug, 8 or more logs at level trace"},
	}
}

func behaviourFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "leader-elect", Value: true, Sources: cli.EnvVars("LEADER_ELECT"), Category: categoryMore,
			Usage: "let only one of several replicas write; the others stand by"},
		&cli.DurationFlag{Name: "lease-duration", Value: 15 * time.Second, Sources: cli.EnvVars("LEASE_DURATION"),
			Category: categoryMore,
			Usage:    "how long a leader that vanished is waited for"},
		&cli.StringFlag{Name: "release-storage", Value: release.Secrets.String(), Sources: cli.EnvVars("RELEASE_STORAGE"),
			Category: categoryMore,
			Usage:    "where Helm keeps its records (HELM_DRIVER): secret, configmap, or secret,configmap"},
		&cli.BoolFlag{Name: "objectset-metadata", Sources: cli.EnvVars("OBJECTSET_METADATA"), Category: categoryMore,
			Usage: "write the classic ObjectSet labels and annotations on the objects of locked releases"},
		&cli.BoolFlag{Name: "impersonate", Sources: cli.EnvVars("IMPERSONATE"), Category: categoryMore,
			Usage: "write objects only in the name of a ServiceAccount in the release's namespace: spec.serviceAccountName, or the default one"},
		&cli.StringFlag{Name: "default-service-account", Sources: cli.EnvVars("DEFAULT_SERVICE_ACCOUNT"),
			Category: categoryMore,
			Usage:    "with --impersonate, the ServiceAccount for releases whose HelmRelease names none"},
		&cli.BoolFlag{Name: "skip-crd", Sources: cli.EnvVars("SKIP_CRD"), Category: categoryMore,
			Usage: "do not install or update the CustomResourceDefinition"},
	}
}

// runOperator runs the operator until the context ends.
func runOperator(ctx context.Context, cmd *cli.Command, stderr io.Writer) error {
	log, err := operator.NewLogger(stderr, level(cmd), cmd.String("log-format"))
	if err != nil {
		return err
	}
	quietLibraries(log)
	if cmd.String("namespace") == "" {
		return fmt.Errorf("--namespace must not be empty: an operator manages the HelmReleases of one namespace")
	}
	if err := refuseMoved(cmd); err != nil {
		return err
	}
	warnOfPage(cmd, log)
	return operator.Run(ctx, operator.ControllerOptions{
		ClientConfig: kubeconfig.GetNonInteractiveClientConfig(cmd.String("kubeconfig")),
		Namespace:    cmd.String("namespace"), ControllerName: cmd.String("controller-name"),
		NodeName:      cmd.String("node-name"),
		ShardSelector: cmd.String("shard-selector"), ReleaseStorage: cmd.String("release-storage"),
		PprofEnabled: cmd.Bool("pprof"), MetricsAddress: cmd.String("metrics-address"),
		HealthAddress:  cmd.String("health-address"),
		LeaderElection: cmd.Bool("leader-elect"), LeaseDuration: cmd.Duration("lease-duration"),
		MetricsAuth: cmd.Bool("metrics-auth"), MetricsHosts: cmd.StringSlice("metrics-host"),
		ObjectSetMetadata: cmd.Bool("objectset-metadata"), SkipCRD: cmd.Bool("skip-crd"),
		Impersonate: cmd.Bool("impersonate"), DefaultServiceAccount: cmd.String("default-service-account"),
		Guard: guardOptions(cmd), Events: cmd.Bool("events"), Log: log,
	})
}

// traceFrom is the lowest --debug-level that logs everything.
const traceFrom = 8

func level(cmd *cli.Command) string {
	switch {
	case cmd.Bool("debug") && cmd.Int("debug-level") >= traceFrom:
		return "trace"
	case cmd.Bool("debug"):
		return "debug"
	}
	return cmd.String("log-level")
}
