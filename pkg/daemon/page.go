package daemon

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/process"
)

const categoryPage = "Status page"

const pageName = "page"

func pageCommand(stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: pageName, Category: command.CategoryProcesses, Usage: "serve the status page, until it is told to stop",
		Description: "The page shows the HelmReleases of a namespace, and live what operators that run with `--events` do. Flags that\n" +
			"the operator has as well need the same values. Every flag has an environment variable.",
		Flags: slices.Concat(pageFlags(false),
			command.Pick(command.ConnectionFlags(), "kubeconfig", "namespace", "controller-name", "shard-selector"),
			command.Pick(command.ServeFlags(), "pprof", "metrics-address", "metrics-host", "metrics-auth", "health-address", "log-level",
				"log-format", "debug", "debug-level"),
			command.Pick(behaviourFlags(), "release-storage", "impersonate", "default-service-account")),
		Action: command.NoArguments(func(ctx context.Context, cmd *cli.Command) error {
			return runPage(ctx, cmd, stderr)
		}),
	}
}

// pageFlags are the flags of the page. The operator knows them, hidden, from the time when it served the page itself.
func pageFlags(hidden bool) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "page-address", Sources: cli.EnvVars("PAGE_ADDRESS"), Category: categoryPage, Hidden: hidden,
			Usage: "address of the page, for example 127.0.0.1:8082"},
		&cli.BoolFlag{Name: "page-auth", Sources: cli.EnvVars("PAGE_AUTH"), Category: categoryPage, Hidden: hidden,
			Usage: "show the page to users who may list HelmReleases, by their bearer token, and let them compare what they may read; everybody reads the states, and nobody compares, without it"},
		&cli.StringSliceFlag{Name: "page-host", Sources: cli.EnvVars("PAGE_HOST"), Category: categoryPage, Hidden: hidden,
			Usage: "host `NAME` by which the page may be asked for, beside addresses, localhost and names inside of the cluster; may be repeated"},
	}
}

// warnOfPage warns that an operator ignores the flags of the page. It is no error: the operator still locks releases.
func warnOfPage(cmd *cli.Command, log logrus.FieldLogger) {
	if process.Asked(cmd.String("page-address")) {
		log.Warn("--page-address (PAGE_ADDRESS): the operator serves no page; run `helm-locker page` with the same --page " +
			"flags beside it, and the operator with --events (docs/page.md)")
	}
}

// runPage serves the page until the context ends.
func runPage(ctx context.Context, cmd *cli.Command, stderr io.Writer) error {
	log, err := process.NewLogger(stderr, command.LogLevel(cmd), cmd.String("log-format"))
	if err != nil {
		return err
	}
	command.QuietLibraries(log)
	if cmd.String("namespace") == "" {
		return fmt.Errorf("--namespace must not be empty: a page shows the HelmReleases of one namespace")
	}
	return page.Run(ctx, page.RunOptions{
		ClientConfig: kubeconfig.GetNonInteractiveClientConfig(cmd.String("kubeconfig")),
		Namespace:    cmd.String("namespace"), ControllerName: cmd.String("controller-name"),
		ShardSelector: cmd.String("shard-selector"), ReleaseStorage: cmd.String("release-storage"),
		Impersonate: cmd.Bool("impersonate"), DefaultServiceAccount: cmd.String("default-service-account"),
		Address: cmd.String("page-address"), Auth: cmd.Bool("page-auth"), Hosts: cmd.StringSlice("page-host"),
		MetricsAddress: cmd.String("metrics-address"), HealthAddress: cmd.String("health-address"),
		MetricsHosts: cmd.StringSlice("metrics-host"), MetricsAuth: cmd.Bool("metrics-auth"),
		PprofEnabled: cmd.Bool("pprof"), Log: log,
	})
}
