package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
)

func statusCommand(a *action) *cli.Command {
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
				outputFlag("table, wide, name, json (with --watch one object a line) or yaml", formatTable, formatWide, formatName, formatJSON, formatYAML),
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
		Action: a.does(runStatus),
	}
}

func runStatus(ctx context.Context, a *action) error {
	if a.cmd.Args().Len() > 1 {
		return a.misused(fmt.Errorf("unexpected argument %q", a.cmd.Args().Get(1)))
	}
	format := a.cmd.String("output")
	if a.cmd.Bool("watch") && (format == formatYAML || format == formatName) {
		return a.misused(errors.New("--watch prints lines or, with -o json, one JSON object a line"))
	}
	if a.cmd.Bool("watch") && (a.cmd.String("state") != "" || a.cmd.Bool("policies")) {
		return a.misused(errors.New("--watch goes with neither --state nor --policies"))
	}
	if a.cmd.String(selectorName) != "" && (a.cmd.Args().Present() || a.cmd.Bool("watch") || a.cmd.Bool("policies")) {
		return a.misused(errors.New("--selector goes with none of a name, --watch and --policies"))
	}
	switch {
	case a.cmd.Bool("watch"):
		return watchStatus(ctx, a)
	case a.cmd.Bool("policies"):
		return statusPolicies(ctx, a)
	}
	all, err := readContexts(ctx, a, func(a *action) (*statusRead, error) {
		store, query, err := statusStore(ctx, a)
		if err != nil {
			return nil, err
		}
		found, operators, err := queried(ctx, a, store, query)
		if err != nil {
			return nil, err
		}
		read := &statusRead{query: query, found: found}
		later := *a
		later.errOut = &read.notes
		noteEnded(&later, operators)
		if format != formatName {
			if read.paused, err = comparePaused(ctx, &later, store.cluster, found, a); err != nil {
				return nil, err
			}
		}
		return read, noteStatus(ctx, &later, store.cluster, query, found)
	})
	if err != nil {
		return err
	}
	if err := printStatus(a, all, format); err != nil {
		return err
	}
	for _, l := range all {
		if l.read != nil {
			a.noteIn(l.Name, l.read.notes.String())
		}
	}
	return exitOf(a, all)
}

// noteStatus prints what is to be known beside the HelmReleases. The error is that of ctx.
func noteStatus(
	ctx context.Context, a *action, c *connection, query statusQuery, found []*v1alpha1.HelmRelease,
) error {
	if query.name == "" {
		noteAdditions(a, found)
		return nil
	}
	return noteIdle(ctx, a, c, found)
}
