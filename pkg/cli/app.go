package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways of logging in that kubeconfigs name
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
)

// app holds the state shared by the commands.
type app struct {
	name string
	// context is the context of the kubeconfig for one of several clusters; that of the flags when it is empty.
	context     string
	in          io.Reader
	out, errOut io.Writer
	// inTTY, outTTY and errTTY report which of them are terminals.
	inTTY, outTTY, errTTY bool
	// quiet leaves out all output but errors, and questions with the drift that they are about.
	quiet bool
	now   func() time.Time
	env   func(string) string
}

func newApp(name string, in io.Reader, out, errOut io.Writer) *app {
	return &app{name: name, in: in, out: out, errOut: errOut, inTTY: isTerminal(in), outTTY: isTerminal(out),
		errTTY: isTerminal(errOut), now: time.Now, env: os.Getenv}
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// masker returns a Masker with a new key, so that markers of two runs are unrelated.
func (a *app) masker(show bool) (report.Masker, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return report.Masker{}, fmt.Errorf("make a key: %w", err)
	}
	m := report.NewMasker(key)
	m.Show = show
	return m, nil
}

// width returns how wide a table may be; 0 is without limit. COLUMNS wins over the terminal's own width.
func (a *app) width() int {
	if columns, err := strconv.Atoi(a.env("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file, ok := a.out.(*os.File); ok && a.outTTY {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return width
		}
	}
	return 0
}

const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

func colorFlag() cli.Flag {
	return command.OneOf(&cli.StringFlag{Name: "color", Value: colorAuto, Category: categoryOutput,
		Usage: "`WHEN` to use colours: auto (on a terminal, unless NO_COLOR is set), always or never"},
		colorAuto, colorAlways, colorNever)
}

// style returns the style of the standard output.
func (a *app) style(cmd *cli.Command) report.Style {
	switch cmd.String("color") {
	case colorAlways:
		return report.Style{Color: true}
	case colorNever:
		return report.Style{}
	}
	return report.Style{Color: a.outTTY && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
}

// note prints a remark outside of the output.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.errOut, plain.Line(fmt.Sprintf(format, args...)))
	}
}

// yesFlag is the flag that answers the question of app.confirm.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Category: categoryWhat,
		Usage: "do not ask; needed where there is no terminal to ask at"}
}

// Categories of the commands' flags.
const (
	categoryCluster = "Cluster"
	categoryOutput  = "Output"
	categoryWhat    = "What"
)

// clusterFlags are the flags for cluster and namespace.
func clusterFlags(namespaceUsage string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Sources: cli.EnvVars("HELM_NAMESPACE"),
			Category: categoryCluster, Usage: namespaceUsage},
		&cli.StringFlag{Name: "kubeconfig", Category: categoryCluster,
			Usage: "kubeconfig `FILE`; KUBECONFIG or ~/.kube/config without it"},
		&cli.StringFlag{Name: "context", Aliases: []string{"kube-context"}, Sources: cli.EnvVars("HELM_KUBECONTEXT"),
			Category: categoryCluster, OnlyOnce: true,
			Usage: "`NAME` of the kubeconfig's context; the current one without it"},
		&cli.StringFlag{Name: "as", Sources: cli.EnvVars("HELM_KUBEASUSER"), Category: categoryCluster,
			Usage: "`USER` or ServiceAccount to impersonate, as for kubectl"},
		&cli.StringSliceFlag{Name: "as-group", Sources: cli.EnvVars("HELM_KUBEASGROUPS"), Category: categoryCluster,
			Usage: "`GROUP` to impersonate, with --as; repeat it for more"},
		&cli.DurationFlag{Name: "request-timeout", Category: categoryCluster, HideDefault: true,
			Usage: "`DURATION` of one request to the API server, for example 10s; 30s without it, and watches without limit"},
		&cli.StringFlag{Name: "release-storage", Value: release.Secrets.String(), Sources: cli.EnvVars("HELM_DRIVER"),
			Category: categoryCluster,
			Usage:    "where Helm keeps its `RECORDS`: secret, configmap, or secret,configmap"},
	}
}

const namespaceOfRelease = "`NAMESPACE` of the release; that of the kubeconfig's context without it"

// connection is a cluster with the selected namespace.
type connection struct {
	*inspect.Cluster
	namespace string
	// given is the namespace of the flags; empty without one.
	given string
	// contextNamespace is the namespace of the kubeconfig's current context, which Helm passes to its plugins.
	contextNamespace string
	// host is the address of the API server.
	host string
	// clock returns the present time, which decides on the ignore rules that have ended.
	clock func() time.Time
}

// connect returns the cluster of the flags and the environment, after checking that it answers.
func (a *app) connect(ctx context.Context, cmd *cli.Command) (*connection, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = cmd.String("kubeconfig")
	name, limit := cmp.Or(a.context, cmd.String("context")), cmd.Duration("request-timeout")
	if a.context != "" && limit == 0 && !cmd.Bool("watch") { // which would end with its limit
		limit = contextTimeout
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: name, Timeout: limit.String(),
		AuthInfo: clientcmdapi.AuthInfo{Impersonate: cmd.String("as"), ImpersonateGroups: cmd.StringSlice("as-group")},
	})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, kubeconfigError(loader, name, err)
	}
	own, _, err := loader.Namespace()
	if err != nil {
		return nil, kubeconfigError(loader, name, err)
	}
	storages, err := release.ParseStorages(cmd.String("release-storage"))
	if err != nil {
		return nil, err
	}
	if err := a.checkScopes(ctx, cmd); err != nil {
		return nil, err
	}
	quietKlog()
	cluster, err := inspect.Connect(config, nil, storages...)
	if err != nil {
		return nil, err
	}
	c := &connection{Cluster: cluster, contextNamespace: own, host: config.Host, clock: a.now}
	if a.context != "" && a.env("HELM_NAMESPACE") != "" {
		current := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
			&clientcmd.ConfigOverrides{CurrentContext: cmd.String("context")})
		if c.contextNamespace, _, err = current.Namespace(); err != nil {
			return nil, kubeconfigError(current, cmd.String("context"), err)
		}
	}
	c.given = a.onlyIn(c, cmd.String("namespace"))
	c.namespace = cmp.Or(c.given, own)
	if err := a.reachable(ctx, cluster, limit); err != nil {
		if err := unreachable(config.Host, err); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// reachable returns nil when the API server answers. For one of several clusters it gives up after twice the limit of a
// request: a program by which a kubeconfig logs in can hang.
func (a *app) reachable(ctx context.Context, cluster *inspect.Cluster, limit time.Duration) error {
	if a.context == "" {
		return cluster.Reachable(ctx)
	}
	limit = 2 * cmp.Or(limit, contextTimeout)
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer, or no login, in %s", limit))
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- cluster.Reachable(limited) }()
	select {
	case err := <-answered:
		return err
	case <-limited.Done():
		return context.Cause(limited)
	}
}

// key returns the release named by an argument: NAME, in the namespace of the flags or of the context, or
// NAMESPACE/NAME, as releases are printed.
func (c *connection) key(arg string) (release.Key, error) {
	namespace, name, found := strings.Cut(arg, "/")
	if !found {
		namespace, name = c.namespace, arg
	}
	key := release.KeyOf(namespace, name)
	if key == (release.Key{}) {
		return release.Key{}, command.Hinted(fmt.Errorf("%q is no name of a release", arg), "write NAME, or NAMESPACE/NAME")
	}
	return key, c.checkScope(arg)
}

// checkScope rejects an argument NAMESPACE/NAME with another --namespace. It may be meant as KIND/NAME.
func (c *connection) checkScope(arg string) error {
	namespace, name, found := strings.Cut(arg, "/")
	if !found || c.given == "" || c.given == namespace {
		return nil
	}
	return command.Hinted(fmt.Errorf("%q names a release in namespace %s, and --namespace is %s", arg, namespace, c.given),
		fmt.Sprintf("write %s -n %s, or %s, or the name of the release when %s is the kind of an object", name, c.given, arg,
			namespace))
}

func kubeconfigError(loader clientcmd.ClientConfig, context string, err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return command.Hinted(errors.New("no cluster is configured"),
			"point KUBECONFIG or --kubeconfig to a kubeconfig file, and choose a context of it with --context")
	}
	if raw, rawErr := loader.RawConfig(); rawErr == nil && context != "" && raw.Contexts[context] == nil {
		return command.Hinted(fmt.Errorf("the kubeconfig has no context %q", context),
			fmt.Sprintf("it has %s", strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")))
	}
	return fmt.Errorf("kubeconfig: %w", err)
}

// positive validates numbers that count from 1.
func positive(n int) error {
	if n < 1 {
		return fmt.Errorf("%d is not a number from 1 on", n)
	}
	return nil
}

// onlyIn returns the namespace of a command for all namespaces; empty for no limit. Helm always passes its plugins a
// namespace, given or not, so that one is ignored.
func (a *app) onlyIn(c *connection, namespace string) string {
	if namespace == a.env("HELM_NAMESPACE") && namespace == c.contextNamespace {
		return ""
	}
	return namespace
}
