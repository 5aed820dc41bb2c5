package daemon

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/operator"
)

const operatorName = "operator"

func operatorCommand(stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: operatorName, Category: command.CategoryProcesses,
		Usage:       "run the operator, until it is told to stop",
		Description: "Every flag has an environment variable.",
		Flags: slices.Concat(command.ConnectionFlags(), command.ServeFlags(), behaviourFlags(), guardFlags(),
			movedFlags(), pageFlags(true)),
		// A comma may be part of a URL.
		DisableSliceFlagSeparator: true,
		Action: command.NoArguments(func(ctx context.Context, cmd *cli.Command) error {
			return runOperator(ctx, cmd, stderr)
		}),
	}
}

// runOperator runs the operator until the context ends.
func runOperator(ctx context.Context, cmd *cli.Command, stderr io.Writer) error {
	log, err := operator.NewLogger(stderr, command.LogLevel(cmd), cmd.String("log-format"))
	if err != nil {
		return err
	}
	command.QuietLibraries(log)
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
		NodeName: cmd.String("node-name"), PodUID: cmd.String("pod-uid"),
		ShardSelector: cmd.String("shard-selector"), ReleaseStorage: cmd.String("release-storage"),
		PprofEnabled: cmd.Bool("pprof"), MetricsAddress: cmd.String("metrics-address"),
		HealthAddress:  cmd.String("health-address"),
		LeaderElection: cmd.Bool("leader-elect"), LeaseDuration: cmd.Duration("lease-duration"),
		MetricsAuth: cmd.Bool("metrics-auth"), MetricsHosts: cmd.StringSlice("metrics-host"),
		ObjectSetMetadata: cmd.Bool("objectset-metadata"), SkipCRD: cmd.Bool("skip-crd"),
		TrustRecords: cmd.String("trust-records"), NeverWriters: cmd.StringSlice("trust-never-writer"),
		Impersonate: cmd.Bool("impersonate"), DefaultServiceAccount: cmd.String("default-service-account"),
		Guard: guardOptions(cmd), Events: cmd.Bool("events"), Log: log,
	})
}
