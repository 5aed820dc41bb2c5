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
	"github.com/rancher/helm-locker/pkg/policies"
	"github.com/rancher/helm-locker/pkg/process"
)

const policiesName = "policies"

func policiesCommand(stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: policiesName, Category: command.CategoryProcesses,
		Usage: "follow HelmReleasePolicies, until it is told to stop",
		Description: "The process makes the HelmReleases of policies, and the operator beside it locks them. Flags that both have\n" +
			"need the same values. Every flag has an environment variable.",
		Flags: slices.Concat(command.ConnectionFlags(),
			command.Pick(command.ServeFlags(), "pprof", "metrics-address", "metrics-host", "metrics-auth", "health-address", "log-level",
				"log-format", "debug", "debug-level"),
			command.Pick(behaviourFlags(), "leader-elect", "lease-duration", "release-storage", "impersonate"),
			command.Pick(guardFlags(), "trust-records")),
		Action: command.NoArguments(func(ctx context.Context, cmd *cli.Command) error {
			return runPolicies(ctx, cmd, stderr)
		}),
	}
}

// runPolicies follows policies until the context ends.
func runPolicies(ctx context.Context, cmd *cli.Command, stderr io.Writer) error {
	log, err := process.NewLogger(stderr, command.LogLevel(cmd), cmd.String("log-format"))
	if err != nil {
		return err
	}
	command.QuietLibraries(log)
	if cmd.String("namespace") == "" {
		return fmt.Errorf("--namespace must not be empty: policies are those of one namespace")
	}
	return policies.Run(ctx, policies.Options{
		ClientConfig: kubeconfig.GetNonInteractiveClientConfig(cmd.String("kubeconfig")),
		Namespace:    cmd.String("namespace"), ControllerName: cmd.String("controller-name"),
		ShardSelector: cmd.String("shard-selector"), NodeName: cmd.String("node-name"), PodUID: cmd.String("pod-uid"),
		ReleaseStorage: cmd.String("release-storage"), Impersonate: cmd.Bool("impersonate"),
		Witnessed:      cmd.String("trust-records") == operator.TrustWitnessed,
		MetricsAddress: cmd.String("metrics-address"), HealthAddress: cmd.String("health-address"),
		MetricsHosts: cmd.StringSlice("metrics-host"), MetricsAuth: cmd.Bool("metrics-auth"),
		PprofEnabled: cmd.Bool("pprof"), LeaderElection: cmd.Bool("leader-elect"),
		LeaseDuration: cmd.Duration("lease-duration"), Log: log,
	})
}
