package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
)

func (a *app) statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Category: categoryLook, Usage: "show which releases are locked, and their drift",
		ArgsUsage: "[NAME]",
		Description: "A table of the HelmReleases: whether each is locked, how many of its objects differ now, how often it drifted recently\n" +
			"(10 at most are kept), how many objects another party keeps changing back, and since when it is in the state that REASON\n" +
			"says; below it, what needs attention. With the name of a HelmRelease or of a release, all about it. --watch goes on with a\n" +
			"line for every drift, revert and change of state as it happens.",
		Flags: slices.Concat(clusterFlags("only releases in this `NAMESPACE`; those of all without it"),
			[]cli.Flag{helmReleaseNamespaceFlag(),
				&cli.BoolFlag{Name: "all-namespaces", Aliases: []string{"A"}, Category: categoryCluster,
					Usage: "HelmReleases of all namespaces, not only of one operator's"},
				&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Category: categoryOutput,
					Usage: "go on with a line for everything that happens"},
				command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: formatTable, Category: categoryOutput,
					Usage: "`FORMAT`: table, wide, name, json (with --watch one object a line) or yaml"},
					formatTable, formatWide, formatName, formatJSON, formatYAML),
				&cli.BoolFlag{Name: "no-headers", Category: categoryOutput, Usage: "the rows of the table alone"},
				command.OneOf(&cli.StringFlag{Name: "state", Category: categoryWhat,
					Usage: "only releases that are `STATE`: locked, detect (watched only), suspended, unlocked, unknown, drifted, contended or attention (any of what wants it)"},
					stateLocked, "detect", "suspended", "unlocked", "unknown", stateDrifted, stateContended, stateAttention),
				&cli.StringFlag{Name: "policy", Category: categoryWhat, Usage: "only releases of the policy `NAME`"},
				command.OneOf(&cli.StringFlag{Name: "sort-by", Value: byName, Category: categoryOutput,
					Usage: "`ORDER`: name, drifted (most objects first) or since (what changed last first)"}, byName, byDrifted, bySince),
				&cli.BoolFlag{Name: "policies", Category: categoryWhat, Usage: "show the HelmReleasePolicies instead, all or the one called NAME, a line each; with --namespace those with a HelmRelease for a release there"},
				&cli.BoolFlag{Name: mayNotExistName, Category: categoryWhat,
					Usage: "with --watch: wait for a HelmRelease, a namespace or a policy that does not exist yet"},
				colorFlag()}),
		Action: a.status,
	}
}

// Formats of output.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatName  = "name"
	formatText  = "text"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatPatch = "patch"
)

// statusQuery selects HelmReleases.
type statusQuery struct {
	// name is the name of a HelmRelease or of a release, namespace that of a release; empty for all.
	name, namespace string
	// policy and state filter; empty for all. now is the time for the computation of states.
	policy, state string
	now           time.Time
}

func (q statusQuery) fits(hr *v1alpha1.HelmRelease) bool {
	return (q.name == "" || hr.Name == q.name || hr.Spec.Release.Name == q.name) &&
		(q.namespace == "" || hr.Spec.Release.Namespace == q.namespace) &&
		(q.policy == "" || hr.Labels[v1alpha1.PolicyLabel] == q.policy) && q.isIn(hr)
}

func (a *app) status(ctx context.Context, cmd *cli.Command) error {
	query := statusQuery{name: cmd.Args().First()}
	if cmd.Args().Len() > 1 {
		return command.UsageError(ctx, cmd, fmt.Errorf("unexpected argument %q", cmd.Args().Get(1)), true)
	}
	format := cmd.String("output")
	if cmd.Bool("watch") && (format == formatYAML || format == formatName) {
		return command.UsageError(ctx, cmd, errors.New("--watch prints lines or, with -o json, one JSON object a line"), true)
	}
	if cmd.Bool("watch") && (cmd.String("state") != "" || cmd.Bool("policies")) {
		return command.UsageError(ctx, cmd, errors.New("--watch goes with neither --state nor --policies"), true)
	}
	c, err := a.connect(ctx, cmd)
	if err != nil {
		return err
	}
	query.namespace = cmd.String("namespace")
	if err := c.checkScope(query.name); err != nil {
		return err
	}
	if namespace, name, found := strings.Cut(query.name, "/"); found {
		query = statusQuery{name: name, namespace: namespace}
	}
	query.namespace = a.onlyIn(c, query.namespace)
	query.policy, query.state, query.now = cmd.String("policy"), cmd.String("state"), a.now()
	namespace := cmd.String("helmrelease-namespace")
	if cmd.Bool("all-namespaces") {
		namespace = ""
	}
	store := c.helmReleases(namespace, false)
	if cmd.Bool("policies") {
		return a.statusPolicies(ctx, cmd, store, query.namespace)
	}
	found, err := store.list(ctx, query.fits)
	if err != nil {
		return err
	}
	if len(found) == 0 && !cmd.Bool(mayNotExistName) {
		if err := a.nothingFound(ctx, cmd, store, query); err != nil {
			return err
		}
	}
	if cmd.Bool("watch") {
		return a.watchStatus(ctx, store, query, format, a.style(cmd))
	}
	slices.SortFunc(found, order(cmd.String("sort-by")))
	if err := a.printStatus(found, query, format, namespace, cmd); err != nil {
		return err
	}
	a.noteStopped(ctx, c, found)
	if query.name == "" {
		a.noteAdditions(found)
		return nil
	}
	return a.noteIdle(ctx, c, found)
}

// nothingFound returns the error for a name, a namespace or a policy that does not exist; nil without one.
func (a *app) nothingFound(ctx context.Context, cmd *cli.Command, store *helmReleases, query statusQuery) error {
	for _, namespace := range [...]string{store.namespace, query.namespace} {
		if err := store.cluster.missing(ctx, namespace); err != nil {
			return err
		}
	}
	if query.name != "" {
		return a.nothingCalled(ctx, cmd, store, query)
	}
	if query.policy == "" {
		return nil
	}
	all, err := store.listPolicies(ctx)
	if apierrors.IsForbidden(err) {
		return nil // it may exist
	}
	if err != nil {
		return err
	}
	return missingPolicy(store.namespace, query.policy, all)
}

// nothingCalled is the error for an unknown name.
func (a *app) nothingCalled(ctx context.Context, cmd *cli.Command, store *helmReleases, query statusQuery) error {
	all, err := store.list(ctx, nil)
	if err != nil {
		return err
	}
	keys := map[release.Key]bool{}
	for _, hr := range all {
		keys[release.Key{Namespace: hr.Namespace, Name: hr.Name}] = true
		keys[release.Key{Namespace: hr.Namespace, Name: hr.Spec.Release.Name}] = true
	}
	var names []string
	for _, key := range inspect.Similar(release.Key{Name: query.name}, keys) {
		names = append(names, key.Name)
	}
	err = fmt.Errorf("no HelmRelease%s is called %s, or names a release of that name", inNamespace(store.namespace),
		query.name)
	if query.namespace != "" {
		err = fmt.Errorf("%w in namespace %s", err, query.namespace)
	}
	hints := []string{fmt.Sprintf("%s lock %s -n NAMESPACE locks a release; -A looks in all namespaces", a.name, query.name)}
	if len(names) > 0 {
		hints = []string{"did you mean " + strings.Join(names, ", or ") + "?"}
	}
	if cmd.Bool("watch") {
		hints = append(hints, "--"+mayNotExistName+" waits for it")
	}
	return &command.ExitError{Code: command.ExitEmpty, Err: command.Hinted(err, hints...)}
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

func (a *app) printStatus(
	found []*v1alpha1.HelmRelease, query statusQuery, format, namespace string, cmd *cli.Command,
) error {
	text := ""
	switch {
	case format == formatJSON || format == formatYAML:
		out := make([]statusOut, 0, len(found))
		for _, hr := range found {
			out = append(out, statusOf(hr, a.now()))
		}
		var err error
		if text, err = encodeList(kindLocks, out, format); err != nil {
			return err
		}
	case format == formatName:
		for _, hr := range found {
			text += changed{hr: hr}.named() + "\n"
		}
	case len(found) == 0 && (query.state != "" || query.policy != ""):
		a.note("no HelmRelease%s fits", inNamespace(namespace))
	case len(found) == 0 && query.namespace != "":
		a.note("no release in namespace %s is locked: no HelmRelease%s is for one; %s lock RELEASE -n %s makes one",
			query.namespace, inNamespace(namespace), a.name, query.namespace)
	case len(found) == 0:
		a.note("no release is locked: there is no HelmRelease%s; %s lock RELEASE -n NAMESPACE makes one",
			inNamespace(namespace), a.name)
	case query.name != "":
		parts := make([]string, len(found))
		for i, hr := range found {
			parts[i] = statusDetails(hr, a.now(), a.style(cmd))
		}
		text = strings.Join(parts, "\n")
	default:
		text = statusTable(found, tableOptions{namespaces: namespace == "", wide: format == formatWide, now: a.now(),
			style: a.style(cmd), width: a.width(), rowsAlone: cmd.Bool("no-headers")})
	}
	_, err := fmt.Fprint(a.out, text)
	return err
}
