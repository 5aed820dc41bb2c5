package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways of logging in that kubeconfigs name
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
)

// connection is a cluster with the selected namespace.
type connection struct {
	*inspect.Cluster
	// cmd is the command that reads or changes the cluster.
	cmd       *cli.Command
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
func (a *action) connect(ctx context.Context) (*connection, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.cmd.String("kubeconfig")
	name, limit := cmp.Or(a.context, a.cmd.String("context")), a.cmd.Duration("request-timeout")
	if a.context != "" && limit == 0 && !a.cmd.Bool("watch") { // which would end with its limit
		limit = contextTimeout
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: name, Timeout: limit.String(),
		AuthInfo: clientcmdapi.AuthInfo{
			Impersonate: a.cmd.String("as"), ImpersonateGroups: a.cmd.StringSlice("as-group"),
		},
	})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, kubeconfigError(loader, name, err)
	}
	own, _, err := loader.Namespace()
	if err != nil {
		return nil, kubeconfigError(loader, name, err)
	}
	storages, err := release.ParseStorages(a.cmd.String("release-storage"))
	if err != nil {
		return nil, err
	}
	if err := a.checkScopes(); err != nil {
		return nil, err
	}
	quietKlog()
	cluster, err := inspect.Connect(config, nil, storages...)
	if err != nil {
		return nil, err
	}
	c := &connection{Cluster: cluster, cmd: a.cmd, contextNamespace: own, host: config.Host, clock: a.now}
	if a.context != "" && a.env("HELM_NAMESPACE") != "" {
		current := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
			&clientcmd.ConfigOverrides{CurrentContext: a.cmd.String("context")})
		if c.contextNamespace, _, err = current.Namespace(); err != nil {
			return nil, kubeconfigError(current, a.cmd.String("context"), err)
		}
	}
	c.given = a.onlyIn(c, a.cmd.String("namespace"))
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
func (a *action) reachable(ctx context.Context, cluster *inspect.Cluster, limit time.Duration) error {
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

// contextTimeout is the limit of a request of a command for several contexts; --request-timeout replaces it.
const contextTimeout = 10 * time.Second

// checkScopes rejects --namespace with --all-namespaces, of which one would be ignored. A namespace of the environment
// is a default. For status and migrate, --all-namespaces is about the namespaces of HelmReleases.
func (a *action) checkScopes() error {
	namespace := a.cmd.String("namespace")
	if !a.cmd.Bool("all-namespaces") || namespace == "" || namespace == a.env("HELM_NAMESPACE") ||
		a.cmd.Name == "status" || a.cmd.Name == "migrate" {
		return nil
	}
	return a.misused(errors.New("--namespace and --all-namespaces exclude each other"))
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

// unreachable describes why an API server does not answer; nil for any answer, such as a refusal.
func unreachable(host string, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && !apierrors.IsUnauthorized(err) {
		return nil
	}
	if apierrors.IsUnauthorized(err) {
		return err
	}
	var cause *url.Error
	if errors.As(err, &cause) {
		err = cause.Err
	}
	if reason, isLogin := strings.CutPrefix(err.Error(), "getting credentials: "); isLogin {
		reason, _, _ = strings.Cut(reason, "\n") // the rest is client-go's advice
		return command.Hinted(fmt.Errorf("no login at the cluster at %s: %s", host, reason),
			"the kubeconfig runs that program to log in: install it, run it to see its error, or choose another context with --context")
	}
	return command.Hinted(fmt.Errorf("the cluster at %s does not answer: %w", host, err),
		"choose another cluster with --context, --kubeconfig or KUBECONFIG, or find out whether this one is up")
}

// onlyIn returns the namespace of a command for all namespaces; empty for no limit. Helm always passes its plugins a
// namespace, given or not, so that one is ignored.
func (a *action) onlyIn(c *connection, namespace string) string {
	if namespace == a.env("HELM_NAMESPACE") && namespace == c.contextNamespace {
		return ""
	}
	return namespace
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

// scopeOf returns the namespace of the releases that a command selects; empty for all.
func (c *connection) scopeOf() string {
	if c.cmd.Bool("all-namespaces") {
		return ""
	}
	return c.namespace
}

// quietKlog discards client-go's own logs: important errors are returned, too.
func quietKlog() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
