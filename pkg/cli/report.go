package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/report"
)

func reportCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "report", Category: categoryLook, Usage: "write a report of the drift of many releases",
		ArgsUsage: "[RELEASE...]",
		Description: "Compares all releases that you may read, or those that are named or selected, with the live objects as diff does, and\n" +
			"writes what it found for a pipeline or a ticket. An HTML report is one file that needs no other, and looks like the\n" +
			"status page: releases that differ come first, tiles filter, and drift that HelmReleases remember from the last day is a\n" +
			"chart. In JUnit XML, which Jenkins and GitLab show, each release is a test: one that drifted is a failure, one that\n" +
			"was not fully compared an error. Values of Secrets are replaced by markers.\n\n" +
			"Exit code 0: no drift; 2: drift (--fail-on); 1: an error, also when only a part could not be compared; 5: there is\n" +
			"no release to compare, unless --allow-empty is given.",
		Flags: slices.Concat(clusterFlags("only releases in this `NAMESPACE`; those of all without it"), contextFlags(), comparedFlags(), unownedFlags(),
			[]cli.Flag{
				command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: formatMarkdown, Category: categoryOutput,
					Usage: "`FORMAT`: json, markdown, html or junit"}, formatJSON, formatMarkdown, formatHTML, formatJUnit),
				&cli.StringFlag{Name: "output-file", Category: categoryOutput, TakesFile: true,
					Usage: "write the report to a `FILE`, and only how many releases drifted to the standard output"},
			}),
		Action: a.does(runReport),
	}
}

func runReport(ctx context.Context, a *action) error {
	if err := checkUnowned(a); err != nil {
		return err
	}
	if err := checkCompared(a); err != nil {
		return err
	}
	if a.cmd.Bool(unownedName) {
		return reportUnowned(ctx, a)
	}
	return compareAll(ctx, a, reportTargets, func(all []located[gathered]) error {
		drift, err := driftOf(a, all)
		if err != nil {
			return err
		}
		text, err := encodeDrift(drift, a.cmd.String("output"))
		if err != nil {
			return err
		}
		return printReport(a, text, drift.Summary.String())
	})
}

// reportTargets returns the cluster of a report, and its releases with their namespace; empty for all.
func reportTargets(ctx context.Context, a *action) (inspect.Source, string, []candidate, error) {
	c, namespace, err := reported(ctx, a)
	if err != nil {
		return nil, "", nil, err
	}
	releases, err := candidates(ctx, a, c, namespace)
	return c, namespace, releases, err
}

func encodeDrift(drift *report.Drift, format string) (string, error) {
	switch format {
	case formatJSON:
		return encodeJSON(drift, "  ")
	case formatHTML:
		return drift.HTML(page.Style(), page.Icon())
	case formatJUnit:
		return drift.JUnit()
	}
	return drift.Markdown(), nil
}
