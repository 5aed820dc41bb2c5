package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

func (a *app) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Category: categoryLook, Usage: "show what differs between a release and the cluster now",
		ArgsUsage: "[RELEASE...]",
		Description: "Compares what the release declares with the live objects: lines with - are what Helm deployed, lines with + what is there\n" +
			"instead, and who wrote it. It needs no operator and no lock; without RELEASE it looks at all releases of the namespace.\n" +
			"Of several releases it prints those that drifted, and a total.\n" +
			"What the API server or a webhook makes of a release is told from drift by a dry run, which needs the permission to patch;\n" +
			"without it the comparison is made locally, and says so. Values of Secrets are replaced by markers, which differ where\n" +
			"the values do.\n\n" +
			"Exit code 0: no drift; 2: drift (--fail-on); 1: an error, also when only a part could not be compared; 5: there is\n" +
			"no release to compare, unless --allow-empty is given.",
		Flags: slices.Concat(clusterFlags(namespaceOfRelease), contextFlags(), comparedFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "all", Category: categoryOutput,
				Usage: "with several releases: print a line for those without drift, too"},
			&cli.IntFlag{Name: "revision", Category: categoryWhat, HideDefault: true, Validator: positive,
				Usage: "compare with revision `N` of the release; the newest deployed one without it"},
			fileFlag(),
			&cli.StringFlag{Name: "objects", Category: categoryWhat, TakesFile: true,
				Usage: "with -f: compare with the objects in a `FILE` (- for standard input) as kubectl prints them, so that no cluster is needed"},
			command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: formatText, Category: categoryOutput,
				Usage: "`FORMAT`: text, json, yaml or patch (unified diffs and nothing else)"}, formatText, formatJSON, formatYAML, formatPatch),
			colorFlag()}),
		Action: a.diff,
	}
}

func (a *app) diff(ctx context.Context, cmd *cli.Command) error {
	if err := checkDiffFlags(ctx, cmd); err != nil {
		return err
	}
	known, err := a.openBaseline(cmd)
	if err != nil {
		return err
	}
	all, err := readContexts(ctx, a, cmd, func(a *app) (*gathered, error) {
		source, targets, err := a.diffTargets(ctx, cmd)
		if err != nil {
			return nil, err
		}
		found, err := a.gather(ctx, cmd, source, targets)
		if err != nil {
			return nil, err
		}
		c, _ := source.(*connection)
		return a.orEmpty(ctx, cmd, c, c.scopeOf(cmd), found)
	})
	if err != nil {
		return err
	}
	known.leaveOutAll(cmd, all)
	several := cmd.String("filename") == "" && (cmd.Args().Len() != 1 || cmd.Bool("all-namespaces")) || isLocated(all)
	shown := diffShown{
		format: cmd.String("output"), now: a.now(), style: a.style(cmd), several: several,
		brief: several && !cmd.Bool("all"),
	}
	text, err := a.diffText(shown, all)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return err
	}
	a.noteHidden(cmd, all)
	return known.finish(cmd, exitOfCompared(a, all))
}

// diffText returns differences in the format of the command line.
func (a *app) diffText(shown diffShown, all []located[gathered]) (string, error) {
	if shown.format != formatJSON && shown.format != formatYAML {
		return shown.output(all)
	}
	drift, err := a.driftOf(all)
	if err != nil {
		return "", err
	}
	return encode(drift, shown.format)
}

// noteHidden names the effect of HelmReleases that could not be read: possible false drift, and unknown locks.
func (a *app) noteHidden(cmd *cli.Command, all []located[gathered]) {
	namespace := cmd.String("helmrelease-namespace")
	for _, l := range all {
		found := l.read
		if found == nil || found.hidden == nil || !slices.ContainsFunc(found.comparisons, hasDrifted) {
			continue
		}
		text := fmt.Sprintf("note: what a lock leaves alone is compared, too: %v", found.hidden)
		if apierrors.IsForbidden(found.hidden) {
			text = fmt.Sprintf("note: you may not list HelmReleases in namespace %s, so what a lock leaves alone is compared, too",
				namespace)
		}
		a.noteIn(l.Name, plain.Line(text)+"\n")
	}
}

func checkDiffFlags(ctx context.Context, cmd *cli.Command) error {
	var err error
	switch all, revision, file := cmd.Bool("all-namespaces"), cmd.IsSet("revision"), cmd.String("filename") != ""; {
	case file && cmd.Args().Len() > 1:
		err = fmt.Errorf("unexpected argument %q", cmd.Args().Get(1))
	case file && cmd.String("selector") != "":
		err = errors.New("--filename and --selector exclude each other")
	case file && all:
		err = errors.New("--filename and --all-namespaces exclude each other")
	case !file && cmd.String("objects") != "":
		err = errors.New("--objects needs --filename")
	case cmd.String("objects") == "-" && cmd.String("filename") == "-":
		err = errors.New("only one of --objects and --filename can be standard input")
	case revision && !file && (all || cmd.Args().Len() != 1 || cmd.String("selector") != ""):
		err = errors.New("--revision needs the name of one release")
	default:
		return checkCompared(ctx, cmd)
	}
	return command.UsageError(ctx, cmd, err, true)
}

// diffTargets returns the releases to compare, and the source of the objects.
func (a *app) diffTargets(ctx context.Context, cmd *cli.Command) (inspect.Source, []candidate, error) {
	if cmd.String("filename") == "" && !cmd.IsSet("revision") {
		c, err := a.connect(ctx, cmd)
		if err != nil {
			return nil, nil, err
		}
		targets, err := a.candidates(ctx, cmd, c, c.scopeOf(cmd))
		return c, targets, err
	}
	details, err := a.load(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	targets := []candidate{{key: details.Key, details: details}}
	if cmd.String("objects") != "" {
		saved, err := a.readFile(cmd.String("objects"))
		if err != nil {
			return nil, nil, err
		}
		if len(saved.Objects) == 0 {
			return nil, nil, fmt.Errorf("%s holds no objects to compare with", saved.Name)
		}
		return inspect.NewDump(saved.Objects), targets, nil
	}
	c, err := a.connect(ctx, cmd)
	return c, targets, err
}

// progress returns a function that shows the progress of comparing the nth of several releases; nil without a
// terminal.
func (a *app) progress(key release.Key, n, of int) func(done, all int) {
	if !a.errTTY {
		return nil
	}
	which := key.String()
	if of > 1 {
		which = fmt.Sprintf("%d of %d, %s", n, of, key)
	}
	return func(done, all int) {
		fmt.Fprintf(a.errOut, "\r\x1b[K")
		if done < all {
			fmt.Fprintf(a.errOut, "%s", plain.Line(fmt.Sprintf("comparing release %s: %d of %d objects", which, done,
				all)))
		}
	}
}

// noteComparison prints the objects that were not, or not fully, compared.
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
