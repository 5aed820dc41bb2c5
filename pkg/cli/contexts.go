package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/rules"
)

const (
	contextsName    = "contexts"
	allContextsName = "all-contexts"
)

// contextFlags are the flags of a command that can read several clusters.
func contextFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: contextsName, Category: categoryCluster,
			Usage: "read the clusters of these `CONTEXTS` of the kubeconfig side by side, with 10s as the default of --request-timeout: a,b or a pattern with * and ?, such as 'prod-*'"},
		&cli.BoolFlag{Name: allContextsName, Category: categoryCluster,
			Usage: "the same for all contexts of the kubeconfig"},
	}
}

// contexts returns the contexts of --contexts and --all-contexts: names in the order of the flag, those of a pattern in
// the order of the alphabet. It returns nil without the flags.
func (a *action) contexts() ([]report.Context, error) {
	every, patterns := a.cmd.Bool(allContextsName), a.cmd.StringSlice(contextsName)
	given := a.cmd.IsSet(contextsName)
	if !every && !given {
		return nil, nil
	}
	var err error
	switch one := a.cmd.String("context"); {
	case every && given:
		err = errors.New("--contexts and --all-contexts exclude each other")
	case one != "" && one != a.env("HELM_KUBECONTEXT") && given:
		err = errors.New("--context and --contexts exclude each other")
	case one != "" && one != a.env("HELM_KUBECONTEXT"):
		err = errors.New("--context and --all-contexts exclude each other")
	case a.cmd.String("objects") != "":
		err = errors.New("--objects reads no cluster, and so no contexts")
	}
	if err != nil {
		return nil, a.misused(err)
	}
	if err := a.checkScopes(); err != nil {
		return nil, err
	}
	if _, err := release.ParseStorages(a.cmd.String("release-storage")); err != nil {
		return nil, err
	}
	if every {
		patterns = []string{"*"}
	}
	for i := range patterns {
		patterns[i] = strings.TrimSpace(patterns[i])
	}
	return readKubeconfig(a.cmd, patterns)
}

// readKubeconfig returns the contexts of the kubeconfig that match patterns.
func readKubeconfig(cmd *cli.Command, patterns []string) ([]report.Context, error) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = cmd.String("kubeconfig")
	config, err := loading.Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if len(config.Contexts) == 0 {
		return nil, command.Hinted(errors.New("there is no kubeconfig with contexts"),
			"point KUBECONFIG or --kubeconfig to a kubeconfig file; the ServiceAccount of a Pod has one cluster and no contexts")
	}
	names, err := matchContexts(config, patterns)
	if err != nil {
		return nil, err
	}
	found := make([]report.Context, len(names))
	for i, name := range names {
		found[i].Name = name
		if cluster := config.Clusters[config.Contexts[name].Cluster]; cluster != nil {
			found[i].Cluster = cluster.Server
		}
	}
	return found, nil
}

// matchContexts returns the names of the contexts that match patterns, each once. It refuses a pattern without a match,
// and a name that is given twice.
func matchContexts(config *clientcmdapi.Config, patterns []string) ([]string, error) {
	all := slices.Sorted(maps.Keys(config.Contexts))
	has := "it has " + some(all)
	var found []string
	for i, pattern := range patterns {
		matches := func(name string) bool { return name == pattern }
		if config.Contexts[pattern] == nil && strings.ContainsAny(pattern, "*?") {
			matches = func(name string) bool { return rules.Glob(pattern, name) }
		}
		switch {
		case pattern == "":
			return nil, command.Hinted(errors.New("--contexts has an empty name"), "the kubeconfig has "+some(all))
		case slices.Contains(patterns[:i], pattern):
			return nil, fmt.Errorf("--contexts has %q twice", pattern)
		case slices.ContainsFunc(all, matches):
		case strings.ContainsAny(pattern, "*?"):
			return nil, command.Hinted(fmt.Errorf("no context of the kubeconfig matches %q", pattern), has)
		default:
			return nil, command.Hinted(fmt.Errorf("the kubeconfig has no context %q", pattern), didYouMeanName(pattern, all, has))
		}
		for _, name := range all {
			if matches(name) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found, nil
}

// didYouMeanName returns a hint with the name of all that resembles a missing one most, before the hint without it.
func didYouMeanName(missing string, all []string, hint string) string {
	if near := inspect.Nearest(missing, slices.Values(all)); near != "" {
		return "did you mean " + near + "? " + hint
	}
	return hint
}

// commandLine matches the beginning of a command in a text: of this program, of kubectl or of Helm.
var commandLine = regexp.MustCompile(`\b((helm-locker|helm locker|kubectl|helm) (accept|check|diff|edit|get|inspect|` +
	`install|list|lock|logs|migrate|policy|rbac|report|resume|status|suspend|trace|unlock|values)|kubectl -n)\b`)

// inContext returns a text with its commands for a context: without --context they would be for the current one, and so
// for another cluster. Without a context the text stays as it is.
func inContext(context, text string) string {
	if context == "" {
		return text
	}
	return commandLine.ReplaceAllStringFunc(text, func(match string) string {
		verb := strings.LastIndex(match, " ")
		flag := " --context "
		if match[:verb] == "helm" {
			flag = " --kube-context "
		}
		return match[:verb] + flag + quoted(plain.Line(context)) + match[verb:]
	})
}

// hasFlag reports whether a command has a flag.
func hasFlag(cmd *cli.Command, name string) bool {
	return slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return f.Names()[0] == name })
}

// usageError is command.UsageError, with the right form for several contexts.
func usageError(ctx context.Context, cmd *cli.Command, err error, isSub bool) error {
	const each = "run it once for each context"
	_, unknown, _ := strings.Cut(err.Error(), "flag provided but not defined: -")
	switch twice := strings.HasSuffix(err.Error(), ": can't duplicate this flag"); {
	case twice && hasFlag(cmd, contextsName):
		return command.Hinted(errors.New("--context is given twice"), "--contexts a,b reads several clusters; see "+
			cmd.FullName()+" --help")
	case twice:
		return command.Hinted(errors.New("--context is given twice"), cmd.Name+" is for one cluster: "+each)
	case hasFlag(cmd, "context") && (unknown == contextsName || unknown == allContextsName):
		return command.Hinted(fmt.Errorf("%s is for one cluster, and has no --%s", cmd.Name, unknown),
			each+", with --context NAME; status, diff, report, check and policy preview read several")
	}
	return command.UsageError(ctx, cmd, err, isSub)
}
