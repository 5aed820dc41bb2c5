package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/version"
)

// CategoryProcesses is the category of the commands that run a process of a cluster.
const CategoryProcesses = "Processes"

// Categories of the flags of processes in the help text.
const (
	categoryOperator  = "Operator"
	categoryServe     = "Observability"
	CategoryBehaviour = "Behaviour"
)

// Processes returns the root command of a program with processes. list returns new commands for them.
func Processes(description string, stdout, stderr io.Writer, list func() []*cli.Command) *cli.Command {
	root := &cli.Command{
		Name:        Program,
		Usage:       "makes Helm the only way to change what a Helm release deployed",
		Version:     version.String(),
		Description: description,
		Writer:      stdout, ErrWriter: stderr,
		Commands: append(list(), Version(CategoryProcesses, stdout)),
		Action:   func(_ context.Context, cmd *cli.Command) error { return cli.ShowRootCommandHelp(cmd) },
		Suggest:  true,
		// Run chooses the exit code and prints errors.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError:   UsageError,
	}
	for _, sub := range root.Commands {
		sub.OnUsageError = UsageError
		sub.HideHelpCommand = true
	}
	root.Commands = append(root.Commands, processReference(stdout, list))
	return root
}

// processReference prints the reference of the processes' flags as Markdown.
func processReference(out io.Writer, list func() []*cli.Command) *cli.Command {
	return &cli.Command{
		Name: "reference", Hidden: true, HideHelpCommand: true,
		Usage: "print the reference of all processes as Markdown",
		Action: func(_ context.Context, _ *cli.Command) error {
			var b strings.Builder
			for _, cmd := range list() { // commands that no command line and no environment has touched
				fmt.Fprintf(&b, "## %s %s\n\n%s. %s\n\n", Program, cmd.Name, Sentence(cmd.Usage), cmd.Description)
				FlagTable(&b, cmd.VisibleFlags())
			}
			_, err := io.WriteString(out, strings.TrimRight(b.String(), "\n")+"\n")
			return err
		},
	}
}

// Run runs the command line of a program with processes, args[0] being its name, until it ends or ctx does. fallback is
// the command of a command line without one; empty for none. It prints errors to stderr and returns the exit code.
func Run(ctx context.Context, root *cli.Command, args []string, fallback string, stderr io.Writer) int {
	args, err := Arrange(root, args, fallback)
	if err == nil {
		err = root.Run(ctx, args)
	}
	if err == nil {
		return ExitOK
	}
	lines := []string{Program + ": " + plain.Line(err.Error())}
	var advised *HintError
	if errors.As(err, &advised) {
		for _, hint := range advised.Hints {
			lines = append(lines, plain.Line(hint))
		}
	}
	fmt.Fprintln(stderr, strings.Join(lines, "\n  "))
	return ExitFailed
}

// ConnectionFlags are the flags of all processes: the cluster, and the HelmReleases that count.
func ConnectionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Aliases: []string{"k"}, Sources: cli.EnvVars("KUBECONFIG"),
			Category: categoryOperator,
			Usage:    "kubeconfig file; in a cluster the service account is used without one"},
		&cli.StringFlag{Name: "namespace", Value: v1alpha1.DefaultNamespace, Sources: cli.EnvVars("NAMESPACE"),
			Category: categoryOperator,
			Usage:    "namespace whose HelmReleases count"},
		&cli.StringFlag{Name: "controller-name", Value: v1alpha1.DefaultControllerName,
			Sources: cli.EnvVars("CONTROLLER_NAME"), Category: categoryOperator,
			Usage: "name that claims HelmReleases for this operator; operators of different names share a cluster"},
		&cli.StringFlag{Name: "shard-selector", Sources: cli.EnvVars("SHARD_SELECTOR"), Category: CategoryBehaviour,
			Usage: "labels of the HelmReleases to manage, as kubectl --selector takes them; operators of one name share a namespace that way"},
		&cli.StringFlag{Name: "node-name", Sources: cli.EnvVars("NODE_NAME"), Category: categoryOperator,
			Usage: "name of the node that this operator runs on"},
		&cli.StringFlag{Name: "pod-uid", Sources: cli.EnvVars("POD_UID"), Category: categoryOperator,
			Usage: "uid of this Pod, by which a restarted container releases the lease of its killed predecessor"},
	}
}

// ServeFlags are the flags of a process for its metrics, its health and its log.
func ServeFlags() []cli.Flag {
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
		&cli.StringFlag{Name: "health-address", Value: ":8081", Sources: cli.EnvVars("HEALTH_ADDRESS"),
			Category: categoryServe,
			Usage:    "address of /healthz and /readyz; 0 for none"},
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

// NoArguments returns the action of a command that takes flags alone.
func NoArguments(run cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		if cmd.Args().Present() {
			return UsageError(ctx, cmd, fmt.Errorf("unexpected argument %q", cmd.Args().First()), true)
		}
		return run(ctx, cmd)
	}
}

// Pick returns the flags of these names.
func Pick(flags []cli.Flag, names ...string) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return !slices.Contains(names, f.Names()[0]) })
}

// traceFrom is the lowest --debug-level that logs everything.
const traceFrom = 8

// LogLevel returns the log level that the flags of a process name.
func LogLevel(cmd *cli.Command) string {
	switch {
	case cmd.Bool("debug") && cmd.Int("debug-level") >= traceFrom:
		return "trace"
	case cmd.Bool("debug"):
		return "debug"
	}
	return cmd.String("log-level")
}
