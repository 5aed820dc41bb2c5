package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/operator"
)

// Categories of the operator's flags in the help text.
const (
	categoryClassic = "Operator"
	categoryServe   = "Observability"
	categoryMore    = "Behaviour"
)

// operatorFlags are all flags of the program without a command. They are local: no command has them. The
// environment, in which DEBUG or NAMESPACE may well be there for another program, is asked only for the operator.
func operatorFlags(fromEnvironment bool) []cli.Flag {
	env := cli.EnvVars
	if !fromEnvironment {
		env = func(...string) cli.ValueSourceChain { return cli.ValueSourceChain{} }
	}
	flags := slices.Concat(classicFlags(env), serveFlags(env), behaviourFlags(env), notifyFlags(env))
	for _, flag := range flags {
		makeLocal(flag)
	}
	return flags
}

type sources = func(variables ...string) cli.ValueSourceChain

func classicFlags(env sources) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Aliases: []string{"k"}, Sources: env("KUBECONFIG"),
			Category: categoryClassic,
			Usage:    "kubeconfig file; in a cluster the service account is used without one"},
		&cli.StringFlag{Name: "namespace", Value: operator.DefaultNamespace, Sources: env("NAMESPACE"),
			Category: categoryClassic,
			Usage:    "namespace whose HelmReleases count"},
		&cli.StringFlag{Name: "controller-name", Value: operator.DefaultControllerName,
			Sources: env("CONTROLLER_NAME"), Category: categoryClassic,
			Usage: "name that claims HelmReleases for this operator; operators of different names share a cluster"},
		&cli.StringFlag{Name: "shard-selector", Sources: env("SHARD_SELECTOR"), Category: categoryMore,
			Usage: "labels of the HelmReleases to manage, as kubectl --selector takes them; operators of one name share a namespace that way"},
		&cli.StringFlag{Name: "node-name", Sources: env("NODE_NAME"), Category: categoryClassic,
			Usage: "name of the node that this operator runs on"},
	}
}

func serveFlags(env sources) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "pprof", Aliases: []string{"p"}, Sources: env("PPROF"), Category: categoryServe,
			Usage: "serve Go profiles on localhost:6060"},
		&cli.StringFlag{Name: "metrics-address", Value: ":8080", Sources: env("METRICS_ADDRESS"),
			Category: categoryServe,
			Usage:    "address of /metrics; 0 for none"},
		&cli.StringSliceFlag{Name: "metrics-host", Sources: env("METRICS_HOST"), Category: categoryServe,
			Usage: "host `NAME` by which the metrics may be asked for, beside addresses, localhost and names inside of the cluster; may be repeated"},
		&cli.BoolFlag{Name: "metrics-auth", Sources: env("METRICS_AUTH"), Category: categoryServe,
			Usage: "serve /metrics only to users who may get that path (nonResourceURLs), by their bearer token"},
		&cli.StringFlag{Name: "health-address", Value: ":8081", Sources: env("HEALTH_ADDRESS"), Category: categoryServe,
			Usage: "address of /healthz and /readyz; 0 for none"},
		&cli.StringFlag{Name: "page-address", Sources: env("PAGE_ADDRESS"), Category: categoryServe,
			Usage: "address of the status page, for example 127.0.0.1:8082; none without it"},
		&cli.BoolFlag{Name: "page-auth", Sources: env("PAGE_AUTH"), Category: categoryServe,
			Usage: "show the page to users who may list HelmReleases, by their bearer token, and let them compare what they may get; everybody reads the states, and nobody compares, without it"},
		&cli.StringSliceFlag{Name: "page-host", Sources: env("PAGE_HOST"), Category: categoryServe,
			Usage: "host `NAME` by which the page may be asked for, beside addresses, localhost and names inside of the cluster; may be repeated"},
		&cli.StringFlag{Name: "log-level", Value: "info", Sources: env("LOG_LEVEL"), Category: categoryServe,
			Usage: "error, warn, info, debug (why each object was judged as it was, each check and write) " +
				"or trace (each event and request)"},
		&cli.StringFlag{Name: "log-format", Value: "text", Sources: env("LOG_FORMAT"), Category: categoryServe,
			Usage: "text or json"},
		&cli.BoolFlag{Name: "debug", Sources: env("DEBUG"), Category: categoryServe, Usage: "log at level debug"},
		&cli.IntFlag{Name: "debug-level", Sources: env("DEBUG_LEVEL"), Category: categoryServe,
			Usage: "with --debug, 8 or more logs at level trace"},
	}
}

func behaviourFlags(env sources) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "leader-elect", Value: true, Sources: env("LEADER_ELECT"), Category: categoryMore,
			Usage: "let only one of several replicas write; the others stand by"},
		&cli.DurationFlag{Name: "lease-duration", Value: 15 * time.Second, Sources: env("LEASE_DURATION"),
			Category: categoryMore,
			Usage:    "how long a leader that vanished is waited for"},
		&cli.BoolFlag{Name: "objectset-metadata", Sources: env("OBJECTSET_METADATA"), Category: categoryMore,
			Usage: "write the classic ObjectSet labels and annotations on the objects of locked releases"},
		&cli.BoolFlag{Name: "impersonate", Sources: env("IMPERSONATE"), Category: categoryMore,
			Usage: "write objects only in the name of a ServiceAccount in the release's namespace: spec.serviceAccountName, or the default one"},
		&cli.StringFlag{Name: "default-service-account", Sources: env("DEFAULT_SERVICE_ACCOUNT"),
			Category: categoryMore,
			Usage:    "with --impersonate, the ServiceAccount for releases whose HelmRelease names none"},
		&cli.BoolFlag{Name: "skip-crd", Sources: env("SKIP_CRD"), Category: categoryMore,
			Usage: "do not install or update the CustomResourceDefinition"},
	}
}

// makeLocal keeps a flag of the root command from being one of every command.
func makeLocal(flag cli.Flag) {
	switch f := flag.(type) {
	case *cli.StringFlag:
		f.Local = true
	case *cli.StringSliceFlag:
		f.Local = true
	case *cli.BoolFlag:
		f.Local = true
	case *cli.IntFlag:
		f.Local = true
	case *cli.DurationFlag:
		f.Local = true
	default:
		panic(fmt.Sprintf("flag %v: no case for type %T", flag.Names(), flag))
	}
}

// commandGiven reports whether a command line has an argument, which can only be a command, rather than flags of
// the operator.
func commandGiven(args []string) bool {
	takesValue := map[string]bool{}
	for _, flag := range operatorFlags(false) {
		_, isBool := flag.(*cli.BoolFlag)
		for _, name := range flag.Names() {
			takesValue[name] = !isBool
		}
	}
	for i := 1; i < len(args); i++ {
		name := strings.TrimLeft(args[i], "-")
		if name == args[i] {
			return true
		}
		if takesValue[name] { // not in the form --name=value
			i++
		}
	}
	return false
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
	return operator.Run(ctx, operator.ControllerOptions{
		ClientConfig: kubeconfig.GetNonInteractiveClientConfig(cmd.String("kubeconfig")),
		Namespace:    cmd.String("namespace"), ControllerName: cmd.String("controller-name"),
		NodeName:      cmd.String("node-name"),
		ShardSelector: cmd.String("shard-selector"),
		PprofEnabled:  cmd.Bool("pprof"), MetricsAddress: cmd.String("metrics-address"),
		HealthAddress:  cmd.String("health-address"),
		LeaderElection: cmd.Bool("leader-elect"), LeaseDuration: cmd.Duration("lease-duration"),
		PageAddress: cmd.String("page-address"), PageHosts: cmd.StringSlice("page-host"),
		PageAuth:          cmd.Bool("page-auth"),
		MetricsAuth:       cmd.Bool("metrics-auth"),
		ObjectSetMetadata: cmd.Bool("objectset-metadata"), SkipCRD: cmd.Bool("skip-crd"),
		Impersonate: cmd.Bool("impersonate"), DefaultServiceAccount: cmd.String("default-service-account"),
		Notify: notifyOptions(cmd), Log: log,
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
