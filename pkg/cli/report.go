package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/report"
)

// Formats of a report.
const (
	formatMarkdown = "markdown"
	formatHTML     = "html"
	formatJUnit    = "junit"
)

func (a *app) reportCommand() *cli.Command {
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
		Action: a.report,
	}
}

func (a *app) report(ctx context.Context, cmd *cli.Command) error {
	if err := checkUnowned(ctx, cmd); err != nil {
		return err
	}
	if err := checkCompared(ctx, cmd); err != nil {
		return err
	}
	if cmd.Bool(unownedName) {
		return a.reportUnowned(ctx, cmd)
	}
	known, err := a.openBaseline(cmd)
	if err != nil {
		return err
	}
	all, err := readContexts(ctx, a, cmd, func(a *app) (*gathered, error) {
		c, namespace, err := a.reported(ctx, cmd)
		if err != nil {
			return nil, err
		}
		candidates, err := a.candidates(ctx, cmd, c, namespace)
		if err != nil {
			return nil, err
		}
		found, err := a.gather(ctx, cmd, c, candidates)
		if err != nil {
			return nil, err
		}
		return a.orEmpty(ctx, cmd, c, namespace, found)
	})
	if err != nil {
		return err
	}
	known.leaveOutAll(cmd, all)
	drift, err := a.driftOf(all)
	if err != nil {
		return err
	}
	text, err := render(drift, cmd.String("output"))
	if err != nil {
		return err
	}
	if err := a.printReport(cmd, text, drift.Summary.String()); err != nil {
		return err
	}
	a.noteHidden(cmd, all)
	return known.finish(cmd, exitOfCompared(a, all))
}

// reported returns the cluster of a report and the namespace of its releases; empty for all.
func (a *app) reported(ctx context.Context, cmd *cli.Command) (*connection, string, error) {
	c, err := a.connect(ctx, cmd)
	if err != nil || cmd.Bool("all-namespaces") {
		return c, "", err
	}
	return c, a.onlyIn(c, cmd.String("namespace")), nil
}

// printReport prints a report, or with --output-file writes it there and prints its summary.
func (a *app) printReport(cmd *cli.Command, text, summary string) error {
	if file := cmd.String("output-file"); file != "" {
		if err := writeFile(file, text); err != nil {
			return err
		}
		text = summary + "\n"
	}
	_, err := io.WriteString(a.out, text)
	return err
}

// driftOf returns the results as a report: by context, and in the order of the releases' names.
func (a *app) driftOf(all []located[gathered]) (*report.Drift, error) {
	releases, host := []report.ReleaseDrift{}, ""
	day := newReportDay(a.now())
	for _, l := range all {
		if l.read == nil {
			continue
		}
		of, err := a.releasesOf(l.Name, l.read)
		if err != nil {
			return nil, err
		}
		releases = append(releases, of...)
		day.add(l.Name, of, l.read.locks)
		if l.Name == "" {
			host = l.read.host
		}
	}
	drift := report.NewDrift(a.now(), host, releases, contextsOf(all)...)
	drift.Day = day.chart()
	return drift, nil
}

// releasesOf returns the results of a context, in the order of the releases' names.
func (a *app) releasesOf(context string, found *gathered) ([]report.ReleaseDrift, error) {
	releases := []report.ReleaseDrift{}
	for _, comparison := range found.comparisons {
		r, err := releaseDrift(comparison, found.declared[comparison.Release.Key], a.now())
		if err != nil {
			return nil, err
		}
		found.ratings.rate(&r, comparison)
		r.Known = found.known[comparison.Release.Key]
		releases = append(releases, r)
	}
	for _, f := range found.failed {
		releases = append(releases, report.ReleaseDrift{Namespace: f.key.Namespace, Name: f.key.Name,
			Differences: []report.ObjectDrift{}, Error: f.err.Error()})
	}
	for _, f := range found.leftOut {
		releases = append(releases, report.ReleaseDrift{Namespace: f.key.Namespace, Name: f.key.Name,
			Differences: []report.ObjectDrift{}, LeftOut: f.err.Error()})
	}
	slices.SortFunc(releases, func(x, y report.ReleaseDrift) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	for i := range releases {
		r := &releases[i]
		if found.hidden != nil {
			r.Locked = report.LockedUnknown
		}
		r.Context = context
		for _, hr := range found.locks {
			if key := keyOf(hr); key.Namespace == r.Namespace && key.Name == r.Name {
				r.HelmRelease, r.Locked = hr.Namespace+"/"+hr.Name, report.LockState(hr, a.now())
			}
		}
	}
	return releases, nil
}

func render(drift *report.Drift, format string) (string, error) {
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

func writeFile(name, text string) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.WriteString(file, text)
	return err
}
