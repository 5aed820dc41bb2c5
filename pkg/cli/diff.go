package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/inspect"
)

func diffCommand(a *action) *cli.Command {
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
			outputFlag("text, json, yaml or patch (unified diffs and nothing else)", formatText, formatJSON, formatYAML, formatPatch),
			colorFlag()}),
		Action: a.does(runDiff),
	}
}

func runDiff(ctx context.Context, a *action) error {
	if err := checkDiffFlags(a); err != nil {
		return err
	}
	return compareAll(ctx, a, diffTargets, func(all []located[gathered]) error {
		several := a.cmd.String("filename") == "" && (a.cmd.Args().Len() != 1 || a.cmd.Bool("all-namespaces")) || isLocated(all)
		shown := diffShown{
			format: a.cmd.String("output"), now: a.now(), style: a.style(), several: several,
			brief: several && !a.cmd.Bool("all"),
		}
		text, err := diffText(a, shown, all)
		if err != nil {
			return err
		}
		return a.write(text)
	})
}

// diffText returns differences in the format of the command line.
func diffText(a *action, shown diffShown, all []located[gathered]) (string, error) {
	if shown.format != formatJSON && shown.format != formatYAML {
		return shown.output(all)
	}
	drift, err := driftOf(a, all)
	if err != nil {
		return "", err
	}
	return encode(drift, shown.format)
}

func checkDiffFlags(a *action) error {
	var err error
	switch all, revision, file := a.cmd.Bool("all-namespaces"), a.cmd.IsSet("revision"), a.cmd.String("filename") != ""; {
	case file && a.cmd.Args().Len() > 1:
		err = fmt.Errorf("unexpected argument %q", a.cmd.Args().Get(1))
	case file && a.cmd.String("selector") != "":
		err = errors.New("--filename and --selector exclude each other")
	case file && all:
		err = errors.New("--filename and --all-namespaces exclude each other")
	case !file && a.cmd.String("objects") != "":
		err = errors.New("--objects needs --filename")
	case a.cmd.String("objects") == "-" && a.cmd.String("filename") == "-":
		err = errors.New("only one of --objects and --filename can be standard input")
	case revision && !file && (all || a.cmd.Args().Len() != 1 || a.cmd.String("selector") != ""):
		err = errors.New("--revision needs the name of one release")
	default:
		return checkCompared(a)
	}
	return a.misused(err)
}

// diffTargets returns the source of the objects, and the releases to compare with their namespace; empty for several.
func diffTargets(ctx context.Context, a *action) (inspect.Source, string, []candidate, error) {
	if a.cmd.String("filename") == "" && !a.cmd.IsSet("revision") {
		c, err := a.connect(ctx)
		if err != nil {
			return nil, "", nil, err
		}
		namespace := c.scopeOf()
		targets, err := candidates(ctx, a, c, namespace)
		return c, namespace, targets, err
	}
	details, err := loadRelease(ctx, a)
	if err != nil {
		return nil, "", nil, err
	}
	targets := []candidate{{key: details.Key, details: details}}
	if a.cmd.String("objects") != "" {
		saved, err := a.readFile(a.cmd.String("objects"))
		if err != nil {
			return nil, "", nil, err
		}
		if len(saved.Objects) == 0 {
			return nil, "", nil, fmt.Errorf("%s holds no objects to compare with", saved.Name)
		}
		return inspect.NewDump(saved.Objects), "", targets, nil
	}
	c, err := a.connect(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	namespace := c.scopeOf()
	return c, namespace, targets, nil
}
