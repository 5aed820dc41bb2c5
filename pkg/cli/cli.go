// Package cli turns the command line and the environment into options of the operator.
package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/version"
)

// categories of flags in the help text.
const (
	categoryClassic = "Operator"
	categoryServe   = "Observability"
	categoryMore    = "Behaviour"
)

// New returns the helm-locker command. Without arguments it runs the operator until the context ends.
func New(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name:    "helm-locker",
		Usage:   "makes Helm the only way to change what a Helm release deployed",
		Version: version.String(),
		Description: "Runs the operator: every Helm release that a HelmRelease names is locked while it is deployed, and whatever\n" +
			"is changed by anyone but Helm is put back.",
		Writer: stdout, ErrWriter: stderr,
		Flags:  flags(),
		Action: func(ctx context.Context, cmd *cli.Command) error { return run(ctx, cmd, stderr) },
		// An argument is most likely a misspelt flag or a command of a newer version; starting the operator is not what was meant.
		Before: func(ctx context.Context, cmd *cli.Command) (context.Context, error) {
			if cmd.Args().Present() {
				return ctx, fmt.Errorf("unknown argument %q; helm-locker takes only flags, see helm-locker --help", cmd.Args().First())
			}
			return ctx, nil
		},
	}
}

func flags() []cli.Flag {
	env := cli.EnvVars
	return []cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Aliases: []string{"k"}, Sources: env("KUBECONFIG"), Category: categoryClassic,
			Usage: "kubeconfig file; in a cluster the service account is used without one"},
		&cli.StringFlag{Name: "namespace", Value: operator.DefaultNamespace, Sources: env("NAMESPACE"), Category: categoryClassic,
			Usage: "namespace in which HelmReleases are looked after"},
		&cli.StringFlag{Name: "controller-name", Value: operator.DefaultControllerName, Sources: env("CONTROLLER_NAME"), Category: categoryClassic,
			Usage: "name that claims HelmReleases for this operator; operators of different names share a cluster"},
		&cli.StringFlag{Name: "node-name", Sources: env("NODE_NAME"), Category: categoryClassic,
			Usage: "name of the node that this operator runs on"},
		&cli.BoolFlag{Name: "pprof", Aliases: []string{"p"}, Sources: env("PPROF"), Category: categoryServe,
			Usage: "serve Go profiles on localhost:6060"},
		&cli.StringFlag{Name: "metrics-address", Value: ":8080", Sources: env("METRICS_ADDRESS"), Category: categoryServe,
			Usage: "address of /metrics; 0 for none"},
		&cli.StringFlag{Name: "health-address", Value: ":8081", Sources: env("HEALTH_ADDRESS"), Category: categoryServe,
			Usage: "address of /healthz and /readyz; 0 for none"},
		&cli.StringFlag{Name: "log-level", Value: "info", Sources: env("LOG_LEVEL"), Category: categoryServe,
			Usage: "error, warn, info, debug or trace"},
		&cli.StringFlag{Name: "log-format", Value: "text", Sources: env("LOG_FORMAT"), Category: categoryServe,
			Usage: "text or json"},
		&cli.BoolFlag{Name: "debug", Sources: env("DEBUG"), Category: categoryServe, Usage: "log at level debug"},
		&cli.IntFlag{Name: "debug-level", Sources: env("DEBUG_LEVEL"), Category: categoryServe,
			Usage: "with --debug, 8 or more logs at level trace"},
		&cli.BoolFlag{Name: "leader-elect", Value: true, Sources: env("LEADER_ELECT"), Category: categoryMore,
			Usage: "let only one of several replicas write; the others stand by"},
		&cli.DurationFlag{Name: "lease-duration", Value: 15 * time.Second, Sources: env("LEASE_DURATION"), Category: categoryMore,
			Usage: "how long a leader that vanished is waited for"},
		&cli.BoolFlag{Name: "objectset-metadata", Sources: env("OBJECTSET_METADATA"), Category: categoryMore,
			Usage: "write the classic ObjectSet labels and annotations on the objects of locked releases"},
		&cli.BoolFlag{Name: "skip-crd", Sources: env("SKIP_CRD"), Category: categoryMore,
			Usage: "do not install or update the CustomResourceDefinition"},
	}
}

func run(ctx context.Context, cmd *cli.Command, stderr io.Writer) error {
	log, err := operator.NewLogger(stderr, level(cmd), cmd.String("log-format"))
	if err != nil {
		return err
	}
	quietLibraries(log)
	tuneMemory()
	if cmd.String("namespace") == "" {
		return fmt.Errorf("--namespace must not be empty: an operator looks after the HelmReleases of one namespace")
	}
	return operator.Run(ctx, operator.ControllerOptions{
		ClientConfig: kubeconfig.GetNonInteractiveClientConfig(cmd.String("kubeconfig")),
		Namespace:    cmd.String("namespace"), ControllerName: cmd.String("controller-name"), NodeName: cmd.String("node-name"),
		PprofEnabled: cmd.Bool("pprof"), MetricsAddress: cmd.String("metrics-address"), HealthAddress: cmd.String("health-address"),
		LeaderElection: cmd.Bool("leader-elect"), LeaseDuration: cmd.Duration("lease-duration"),
		ObjectSetMetadata: cmd.Bool("objectset-metadata"), SkipCRD: cmd.Bool("skip-crd"), Log: log,
	})
}

// traceFrom is the --debug-level from which on everything is logged.
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
