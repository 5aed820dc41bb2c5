package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
)

func (a *app) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Category: categoryLook, Usage: "show what differs between a release and the cluster now",
		ArgsUsage: "[RELEASE]",
		Description: "Compares what the release declares with the live objects: lines with - are what Helm deployed, lines with + what is there\n" +
			"instead, and who wrote it. It needs no operator and no lock; without RELEASE it looks at all releases of the namespace.\n" +
			"What the API server or a webhook makes of a release is told from drift by a dry run, which needs the permission to patch;\n" +
			"without it the comparison is made locally, and says so. Values of Secrets are replaced by markers, which differ where\n" +
			"the values do.\n\n" +
			"Exit code 0: no drift; 2: drift; 1: an error, also when only a part could not be compared.",
		Flags: append(clusterFlags(namespaceOfRelease),
			&cli.BoolFlag{Name: "all-namespaces", Aliases: []string{"A"}, Category: categoryCluster,
				Usage: "releases in all namespaces"},
			&cli.IntFlag{Name: "revision", Category: categoryWhat, HideDefault: true, Validator: positive,
				Usage: "compare with revision `N` of the release; the newest deployed one without it"},
			fileFlag(),
			&cli.StringFlag{Name: "objects", Category: categoryWhat, TakesFile: true,
				Usage: "with -f: compare with the objects in a `FILE` (- for standard input) as kubectl prints them, so that no cluster is needed"},
			oneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: formatText, Category: categoryOutput,
				Usage: "`FORMAT`: text, json, yaml or patch (unified diffs and nothing else)"}, formatText, formatJSON, formatYAML, formatPatch),
			&cli.BoolFlag{Name: "strict", Category: categoryWhat,
				Usage: "also show what others added beside what the release declares; the default for a release that a HelmRelease locks with scope Strict"},
			&cli.BoolFlag{Name: "no-ignore", Category: categoryWhat,
				Usage: "compare what the ignore rules of the release's HelmRelease leave alone, too"},
			helmReleaseNamespaceFlag(),
			colorFlag()),
		Action: a.diff,
	}
}

func (a *app) diff(ctx context.Context, cmd *cli.Command) error {
	if err := checkDiffFlags(ctx, cmd); err != nil {
		return err
	}
	masker, err := a.masker(false)
	if err != nil {
		return err
	}
	source, targets, err := a.diffTargets(ctx, cmd)
	if err != nil {
		return err
	}
	locks, hidden := a.locksOf(ctx, cmd, source)
	var comparisons []*inspect.Comparison
	failed := false
	for _, details := range targets {
		options := inspect.CompareOptions{Masker: masker, Strict: cmd.Bool("strict"), Progress: a.progress(details.Key)}
		if err := a.asLocked(cmd, locks, details.Key, &options); err != nil {
			return err
		}
		comparison, err := inspect.Compare(ctx, source, details, options)
		if err != nil {
			if len(targets) == 1 || ctx.Err() != nil {
				return err
			}
			fmt.Fprintln(a.errOut, explain(a.name, err))
			failed = true
			continue
		}
		failed = failed || len(comparison.Failures) > 0
		comparisons = append(comparisons, comparison)
		a.noteComparison(comparison)
	}
	text, err := diffOutput(comparisons, cmd.String("output"), a.now(), a.style(cmd))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return err
	}
	drifted := slices.ContainsFunc(comparisons, func(c *inspect.Comparison) bool { return len(c.Differences) > 0 })
	if drifted && hidden {
		a.note("note: you may not list HelmReleases in namespace %s, so what a lock leaves alone is compared, too",
			cmd.String("helmrelease-namespace"))
	}
	switch {
	case failed:
		return &exitError{exitFailed}
	case drifted:
		return &exitError{exitFound}
	}
	return nil
}

func checkDiffFlags(ctx context.Context, cmd *cli.Command) error {
	var err error
	switch all, revision, file := cmd.Bool("all-namespaces"), cmd.IsSet("revision"), cmd.String("filename") != ""; {
	case cmd.Args().Len() > 1:
		err = fmt.Errorf("unexpected argument %q", cmd.Args().Get(1))
	case file && all:
		err = errors.New("--filename and --all-namespaces exclude each other")
	case !file && cmd.String("objects") != "":
		err = errors.New("--objects needs --filename")
	case cmd.String("objects") == "-" && cmd.String("filename") == "-":
		err = errors.New("only one of --objects and --filename can be standard input")
	case revision && !file && (all || !cmd.Args().Present()):
		err = errors.New("--revision needs the name of one release")
	default:
		return nil
	}
	return usageError(ctx, cmd, err, true)
}

// diffTargets returns the releases to compare, and what to compare them with.
func (a *app) diffTargets(ctx context.Context, cmd *cli.Command) (inspect.Source, []*release.Details, error) {
	if cmd.String("filename") == "" {
		c, err := a.connect(ctx, cmd)
		if err != nil {
			return nil, nil, err
		}
		targets, err := a.releases(ctx, cmd, c)
		return c, targets, err
	}
	details, err := a.load(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	if cmd.String("objects") != "" {
		saved, err := a.readFile(cmd.String("objects"))
		if err != nil {
			return nil, nil, err
		}
		if len(saved.Objects) == 0 {
			return nil, nil, fmt.Errorf("%s holds no objects to compare with", saved.Name)
		}
		return inspect.NewDump(saved.Objects), []*release.Details{details}, nil
	}
	c, err := a.connect(ctx, cmd)
	return c, []*release.Details{details}, err
}

// releases reads the releases that arguments and flags name, those in several namespaces in order.
func (a *app) releases(ctx context.Context, cmd *cli.Command, c *connection) ([]*release.Details, error) {
	name, all := cmd.Args().First(), cmd.Bool("all-namespaces")
	key := release.Key{Namespace: c.namespace}
	if all && strings.Contains(name, "/") {
		return nil, usageError(ctx, cmd, errTwoScopes(name), true)
	}
	if name != "" {
		var err error
		if key, err = c.key(name); err != nil {
			return nil, err
		}
		name = key.Name
	}
	if name != "" && !all && cmd.IsSet("revision") {
		record, err := c.Find(ctx, key, cmd.Int("revision"))
		if err != nil {
			return nil, err
		}
		details, err := c.Read(ctx, record)
		return []*release.Details{details}, err
	}
	namespace := key.Namespace
	if all {
		namespace = ""
	}
	records, err := c.Records(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	byKey := map[release.Key][]release.Record{}
	for _, record := range records {
		byKey[record.Key] = append(byKey[record.Key], record)
	}
	single := name != "" && !all
	if len(byKey) == 0 && single {
		_, err := c.Find(ctx, key, 0) // says what may have been meant
		if err == nil {
			err = fmt.Errorf("release %s was being installed; try again", key)
		}
		return nil, err
	}
	keys := make([]release.Key, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y release.Key) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	var targets []*release.Details
	for _, key := range keys {
		details, err := a.current(ctx, c, byKey[key], single)
		if err != nil {
			return nil, err
		}
		if details != nil {
			targets = append(targets, details)
		}
	}
	if len(targets) == 0 {
		a.note("there is no release to compare%s", inNamespace(namespace))
	}
	return targets, nil
}

// current reads the revision of a release that is compared with the cluster. One of many that has none is left out;
// nil.
func (a *app) current(
	ctx context.Context, c *connection, records []release.Record, single bool,
) (*release.Details, error) {
	newest, _ := release.Newest(records)
	record, _ := inspect.Current(records)
	switch {
	case record.Status != release.StatusDeployed && !single:
		a.note("note: release %s is left out: no revision of it is deployed (the newest, %d, is %s)", record.Key,
			newest.Revision, newest.Status)
		return nil, nil
	case record.Status != release.StatusDeployed:
		a.note("note: revision %d of release %s is %s", record.Revision, record.Key, record.Status)
	case record.Revision != newest.Revision:
		a.note("note: revision %d of release %s is %s; compared with revision %d, the last one that was deployed",
			newest.Revision, newest.Key, newest.Status, record.Revision)
	}
	return c.Read(ctx, record)
}

// progress returns a function that shows how far a comparison is; nil without a terminal.
func (a *app) progress(key release.Key) func(done, all int) {
	if !a.errTTY {
		return nil
	}
	return func(done, all int) {
		fmt.Fprintf(a.errOut, "\r\x1b[K")
		if done < all {
			fmt.Fprintf(a.errOut, "%s", report.Line(fmt.Sprintf("comparing release %s: %d of %d objects", key, done,
				all)))
		}
	}
}

// noteComparison tells what was not, or not fully, compared.
func (a *app) noteComparison(c *inspect.Comparison) {
	if c.Local != "" && len(c.Differences) > 0 {
		a.note(
			"note: release %s is compared locally: %s; what the API server or a webhook makes of a value may look like drift", c.Release.Key, c.Local,
		)
	}
	for _, failure := range c.Failures {
		a.note("cannot compare %s of release %s: %v", failure.ID, c.Release.Key, failure.Err)
		for _, hint := range hintsFor(a.name, failure.Err) {
			a.note("  %s", hint)
		}
	}
	for _, left := range c.Left {
		a.note("note: not compared: %s", left)
	}
}
