package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/period"
)

func evidenceCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "evidence", Category: categoryLook, Usage: "write a report of a period from files of evidence",
		ArgsUsage: "DIRECTORY...",
		Description: "Reads the files that helm-locker-notifications --evidence-dir wrote, and reports for each release when it was locked,\n" +
			"watched, paused or not locked, each change that was not made by Helm, the revisions, the rules, and each time for which\n" +
			"evidence is missing. It needs no cluster. Files of several clusters, one directory each, become one report.\n" +
			"DATE is a day in UTC, such as 2026-10-01, or a time, such as 2026-10-01T08:00:00Z. The report has all of the day of\n" +
			"--until.\n\n" +
			"Exit code 0: the chain of digests is unbroken; 2: it is broken, and the report ends before the break; 1: an error.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "since", Category: categoryWhat, Usage: "`DATE` at which the period begins"},
			&cli.StringFlag{Name: "until", Category: categoryWhat, Usage: "`DATE` at which it ends; now without it"},
			&cli.BoolFlag{Name: "verify", Category: categoryWhat, Usage: "only check the chains, and print the first break of each"},
			outputFlag("text, markdown, html, json or csv", formatText, formatMarkdown, formatHTML, formatJSON, formatCSV),
			&cli.StringFlag{Name: "output-file", Category: categoryOutput, TakesFile: true,
				Usage: "write the report to a `FILE`, and only the totals to the standard output"},
		},
		Action: a.does(runEvidence),
	}
}

func runEvidence(_ context.Context, a *action) error {
	since, until, err := periodOf(a)
	if err != nil {
		return err
	}
	builder := period.NewBuilder(since, until)
	if err := readEvidence(builder, directories(a)); err != nil {
		return err
	}
	found := builder.Report()
	if err := writeEvidence(a, found); err != nil {
		return err
	}
	if found.Summary.Broken == 0 {
		return nil
	}
	var broken []string
	for _, c := range found.Chains {
		if c.Broken != "" {
			broken = append(broken, c.Directory+": "+c.Broken)
		}
	}
	return &command.ExitError{Code: command.ExitFound, Err: command.Hinted(
		errors.New("the chain is broken: "+strings.Join(broken, "; ")),
		"lines were changed, moved or removed there, and nothing after it is proven; compare the directory with a copy")}
}

// writeEvidence writes a report, or the results of --verify, where the flags have it.
func writeEvidence(a *action, found *period.Report) error {
	name := a.cmd.String("output-file")
	if name == "" {
		return encodeEvidence(a.out, a, found, a.width())
	}
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := errors.Join(encodeEvidence(file, a, found, 0), file.Close()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return a.write(found.Summary.String() + "\n")
}

// encodeEvidence writes a report in the format of the flags.
func encodeEvidence(to io.Writer, a *action, found *period.Report, width int) error {
	switch format := a.cmd.String("output"); {
	case a.cmd.Bool("verify"):
		_, err := io.WriteString(to, found.Lines())
		return err
	case format == formatJSON:
		return writeJSON(to, found)
	case format == formatHTML:
		return found.HTML(to, page.Style(), page.Icon())
	case format == formatMarkdown:
		return found.Markdown(to)
	case format == formatCSV:
		return found.CSV(to)
	}
	return found.Text(to, width)
}

// writeJSON writes a report as JSON, one release after another: at once, 100,000 changes take four times the memory.
func writeJSON(to io.Writer, found *period.Report) error {
	head := *found
	head.Releases = []period.Release{}
	text, err := encodeJSON(head, "  ")
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(text, `"items": []`) // the key alone: in a text the quotes are escaped
	out := bufio.NewWriter(to)                           // it keeps errors until it is flushed
	fmt.Fprintf(out, `%s"items": [`, before)
	for i := range found.Releases {
		item, err := encodeJSON(found.Releases[i], "  ")
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprintf(out, "\n%s", strings.TrimSuffix(item, "\n"))
	}
	fmt.Fprintf(out, "]%s", after)
	return out.Flush()
}

// directories returns the arguments; a comma separates directories, too.
func directories(a *action) []string {
	var all []string
	for _, arg := range a.cmd.Args().Slice() {
		all = append(all, strings.Split(arg, ",")...)
	}
	return slices.DeleteFunc(all, func(dir string) bool { return dir == "" })
}

// readEvidence adds the lines of directories to a report.
func readEvidence(builder *period.Builder, all []string) error {
	if len(all) == 0 {
		return command.Hinted(errors.New("no directory of evidence is given"),
			"name the directory of helm-locker-notifications --evidence-dir, or a copy of it")
	}
	for _, dir := range all {
		chain, err := evidence.Read(os.DirFS(dir), func(l *evidence.Line) error {
			builder.Add(l)
			return nil
		})
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", dir, err)
		case chain.Lines == 0 && chain.Broken == "" && chain.Torn == "":
			return fmt.Errorf("%s: the files of evidence have no line", dir)
		}
		builder.AddChain(dir, chain)
	}
	return nil
}

// periodOf returns the period of the flags. All times are one for --verify.
func periodOf(a *action) (since, until time.Time, err error) {
	if a.cmd.Bool("verify") {
		return time.Time{}, a.now(), nil
	}
	if !a.cmd.IsSet("since") {
		return since, until, command.Hinted(errors.New("the period has no begin"), "name it with --since, for example --since 2026-10-01")
	}
	if since, _, err = date("--since", a.cmd.String("since")); err != nil {
		return since, until, err
	}
	until = a.now()
	if a.cmd.IsSet("until") {
		if _, until, err = date("--until", a.cmd.String("until")); err != nil {
			return since, until, err
		}
	}
	if !since.Before(until) {
		err = fmt.Errorf("the period ends before it begins: since %s, until %s", since.UTC().Format(time.RFC3339),
			until.UTC().Format(time.RFC3339))
	}
	return since, until, err
}

// date returns the begin and the end of a day, or a time twice.
func date(flag, text string) (begin, end time.Time, err error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, day.AddDate(0, 0, 1), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return begin, end, command.Hinted(fmt.Errorf("%s %q is no date", flag, text),
			"write a day, such as 2026-10-01, or a time, such as 2026-10-01T08:00:00Z")
	}
	return at, at, nil
}
