package cli

import (
	"bytes"
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
			"(10 at most are kept), how many objects another party keeps changing back, and since when it has its REASON; below it,\n" +
			"what needs attention. LOCKED is unknown, and REASON OperatorNotRunning, while no operator runs. The operator does not\n" +
			"compare suspended releases: the command does, and notes the drift that the end of the pause reverts. A terminal that is\n" +
			"too narrow gets fewer columns. With the name of a HelmRelease or of a release, all about it. --watch goes on with a line for\n" +
			"every drift, revert and change of state.",
		Flags: slices.Concat(clusterFlags("only releases in this `NAMESPACE`; those of all without it"), contextFlags(),
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
					Usage: "only releases that are `STATE`: locked, detect (watched only), suspended, unlocked, unknown, drifted, contended or attention (contended, or listed under NEEDS ATTENTION)"},
					stateLocked, "detect", "suspended", "unlocked", "unknown", stateDrifted, stateContended, stateAttention),
				selectorFlag("only releases"), allowEmptyFlag(),
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
	// selector is for the labels of releases, and selected reports whether it matches those of one; nil for all.
	selector string
	selected func(release.Key) bool
}

func (q statusQuery) fits(hr *v1alpha1.HelmRelease) bool {
	return (q.name == "" || hr.Name == q.name || hr.Spec.Release.Name == q.name) &&
		(q.namespace == "" || hr.Spec.Release.Namespace == q.namespace) &&
		(q.policy == "" || hr.Labels[v1alpha1.PolicyLabel] == q.policy) && (q.selected == nil || q.selected(keyOf(hr)))
}

func (a *app) status(ctx context.Context, cmd *cli.Command) error {
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
	if cmd.String(selectorName) != "" && (cmd.Args().Present() || cmd.Bool("watch") || cmd.Bool("policies")) {
		return command.UsageError(ctx, cmd, errors.New("--selector goes with none of a name, --watch and --policies"), true)
	}
	switch {
	case cmd.Bool("watch"):
		return a.watchStatus(ctx, cmd)
	case cmd.Bool("policies"):
		return a.statusPolicies(ctx, cmd)
	}
	all, err := readContexts(ctx, a, cmd, func(a *app) (*statusRead, error) {
		store, query, err := a.statusStore(ctx, cmd)
		if err != nil {
			return nil, err
		}
		found, operators, err := a.queried(ctx, cmd, store, query)
		if err != nil {
			return nil, err
		}
		read := &statusRead{query: query, found: found}
		later := *a
		later.errOut = &read.notes
		later.noteEnded(operators)
		if format != formatName {
			if read.paused, err = later.comparePaused(ctx, store.cluster, found, a); err != nil {
				return nil, err
			}
		}
		return read, later.noteStatus(ctx, store.cluster, query, found)
	})
	if err != nil {
		return err
	}
	if err := a.printStatus(all, format, cmd); err != nil {
		return err
	}
	for _, l := range all {
		if l.read != nil {
			a.noteIn(l.Name, l.read.notes.String())
		}
	}
	return exitOf(a, all)
}

// statusRead is what status read in one cluster.
type statusRead struct {
	query statusQuery
	found []*v1alpha1.HelmRelease
	// paused has the drift of the suspended ones among them.
	paused pausedDrifts
	// notes are printed after the HelmReleases.
	notes bytes.Buffer
}

// statusStore returns the HelmReleases of a cluster, and the query of the flags and arguments.
func (a *app) statusStore(ctx context.Context, cmd *cli.Command) (*helmReleases, statusQuery, error) {
	query := statusQuery{name: cmd.Args().First(), namespace: cmd.String("namespace")}
	c, err := a.connect(ctx, cmd)
	if err != nil {
		return nil, query, err
	}
	if err := c.checkScope(query.name); err != nil {
		return nil, query, err
	}
	if namespace, name, found := strings.Cut(query.name, "/"); found {
		query.name, query.namespace = name, namespace
	}
	query.namespace = a.onlyIn(c, query.namespace)
	query.policy, query.state, query.now = cmd.String("policy"), cmd.String("state"), a.now()
	query.selector = cmd.String(selectorName)
	if query.selected, err = c.labelled(ctx, cmd, query.namespace); err != nil {
		return nil, query, err
	}
	namespace := cmd.String("helmrelease-namespace")
	if cmd.Bool("all-namespaces") {
		namespace = ""
	}
	return c.helmReleases(namespace, false), query, nil
}

// queried returns the HelmReleases of a query, and those of their operators that no longer run. A name, a namespace or
// a policy that does not exist is an error.
func (a *app) queried(
	ctx context.Context, cmd *cli.Command, store *helmReleases, query statusQuery,
) ([]*v1alpha1.HelmRelease, []ended, error) {
	found, fromLocks, err := store.listOrLocks(ctx, query.namespace, query.fits)
	if err != nil {
		return nil, nil, err
	}
	if fromLocks {
		a.noteLocks(query.namespace)
	}
	nothing := len(found) == 0
	operators := leases{c: store.cluster, now: a.now}.ended(ctx, found)
	found = slices.DeleteFunc(found, func(hr *v1alpha1.HelmRelease) bool {
		outdate(hr, operators)
		return !query.isIn(hr)
	})
	if len(found) > 0 || fromLocks && query.name+query.selector == "" || cmd.Bool(mayNotExistName) {
		return found, operators, nil
	}
	if err := a.nothingFound(ctx, cmd, store, query); err != nil {
		return nil, nil, err
	}
	if nothing && query.selector != "" {
		return nil, nil, a.empty(ctx, cmd, store.cluster, fmt.Errorf(
			"no HelmRelease%s is for a release%s with labels %s",
			inNamespace(store.namespace), inNamespace(query.namespace), query.selector))
	}
	if format := cmd.String("output"); !cmd.Bool("watch") && (format == formatTable || format == formatWide) {
		a.noteEmpty(store.namespace, query)
	}
	return found, operators, nil
}

// noteStatus prints what is to be known beside the HelmReleases. The error is that of ctx.
func (a *app) noteStatus(
	ctx context.Context, c *connection, query statusQuery, found []*v1alpha1.HelmRelease,
) error {
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
