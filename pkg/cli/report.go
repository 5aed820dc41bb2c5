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
			"status page. In JUnit XML, which Jenkins and GitLab show, each release is a test: one that drifted is a failure, one that\n" +
			"was not fully compared an error. Values of Secrets are replaced by markers.\n\n" +
			"Exit code 0: no drift; 2: drift (--fail-on); 1: an error, also when only a part could not be compared; 5: there is\n" +
			"no release to compare, unless --allow-empty is given.",
		Flags: slices.Concat(clusterFlags("only releases in this `NAMESPACE`; those of all without it"), comparedFlags(), unownedFlags(),
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
	c, err := a.connect(ctx, cmd)
	if err != nil {
		return err
	}
	namespace := a.onlyIn(c, cmd.String("namespace"))
	if cmd.Bool("all-namespaces") {
		namespace = ""
	}
	if cmd.Bool(unownedName) {
		return a.reportUnowned(ctx, cmd, c, namespace)
	}
	all, err := a.candidates(ctx, cmd, c, namespace)
	if err != nil {
		return err
	}
	known, err := a.openBaseline(cmd, namespace)
	if err != nil {
		return err
	}
	found, err := a.gather(ctx, cmd, c, all)
	if err != nil {
		return err
	}
	known.leaveOut(found)
	drift, err := a.driftOf(c, found)
	if err != nil {
		return err
	}
	text, err := render(drift, cmd.String("output"))
	if err != nil {
		return err
	}
	if file := cmd.String("output-file"); file != "" {
		if err := writeFile(file, text); err != nil {
			return err
		}
		text = drift.Summary.String() + "\n"
	}
	if _, err := io.WriteString(a.out, text); err != nil {
		return err
	}
	a.noteHidden(cmd, found)
	return known.finish(cmd, a.exit(ctx, cmd, c, namespace, found))
}

// driftOf returns the results as a report, in the order of the releases' names. c is nil without a cluster.
func (a *app) driftOf(c *connection, found *gathered) (*report.Drift, error) {
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
		for _, hr := range found.locks {
			if key := keyOf(hr); key.Namespace == r.Namespace && key.Name == r.Name {
				r.HelmRelease, r.Locked = hr.Namespace+"/"+hr.Name, report.LockState(hr, a.now())
			}
		}
	}
	host := ""
	if c != nil {
		host = c.host
	}
	return report.NewDrift(a.now(), host, releases), nil
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
