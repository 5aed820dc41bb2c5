package daemon

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/teams"
)

const teamsName = "teams"

func teamsCommand(stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: teamsName, Category: command.CategoryProcesses,
		Usage: "keep the ReleaseLocks of namespaces, until it is told to stop",
		Description: "The process shows each HelmRelease as a ReleaseLock in the namespace of its release, and pauses the lock when a\n" +
			"ReleaseLock asks for it. Flags that the operator has too need the same values. Every flag has an environment variable.",
		Flags: slices.Concat(
			command.Pick(command.ConnectionFlags(), "kubeconfig", "namespace", "controller-name", "node-name"),
			command.Pick(command.ServeFlags(), "pprof", "metrics-address", "metrics-host", "metrics-auth", "health-address", "log-level",
				"log-format", "debug", "debug-level"),
			[]cli.Flag{&cli.DurationFlag{Name: "longest-pause", Sources: cli.EnvVars("LONGEST_PAUSE"), Value: teams.DefaultLongestPause,
				Usage: "bound of a pause that a ReleaseLock asks for, from the time of the request"}}),
		Action: command.NoArguments(func(ctx context.Context, cmd *cli.Command) error {
			return runTeams(ctx, cmd, stderr)
		}),
	}
}

// runTeams keeps ReleaseLocks until the context ends.
func runTeams(ctx context.Context, cmd *cli.Command, stderr io.Writer) error {
	log, err := process.NewLogger(stderr, command.LogLevel(cmd), cmd.String("log-format"))
	if err != nil {
		return err
	}
	command.QuietLibraries(log)
	if cmd.String("namespace") == "" {
		return fmt.Errorf("--namespace must not be empty: HelmReleases are those of one namespace")
	}
	return teams.Run(ctx, teams.Options{
		ClientConfig: kubeconfig.GetNonInteractiveClientConfig(cmd.String("kubeconfig")),
		Namespace:    cmd.String("namespace"), ControllerName: cmd.String("controller-name"),
		LongestPause: cmd.Duration("longest-pause"), NodeName: cmd.String("node-name"),
		MetricsAddress: cmd.String("metrics-address"), HealthAddress: cmd.String("health-address"),
		MetricsHosts: cmd.StringSlice("metrics-host"), MetricsAuth: cmd.Bool("metrics-auth"),
		PprofEnabled: cmd.Bool("pprof"), Log: log,
	})
}
