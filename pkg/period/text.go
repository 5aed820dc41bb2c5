package period

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// headline is the title of the report.
func (r *Report) headline() string {
	return fmt.Sprintf("Evidence from %s until %s", report.Time(r.Since), report.Time(r.Until))
}

// Text writes the report for a terminal. It cuts rows at width; width 0 is without limit.
func (r *Report) Text(to io.Writer, width int) error {
	b := bufio.NewWriter(to) // it keeps errors until it is flushed
	fmt.Fprintf(b, "%s\n%s\n", r.headline(), r.Summary)
	for s := range r.sections() {
		fmt.Fprintf(b, "\n%s\n", plain.Line(s.title))
		for _, note := range s.notes {
			fmt.Fprintf(b, "%s\n", note)
		}
		for _, t := range s.tables {
			if len(t.rows) == 0 {
				continue
			}
			laid := &report.Table{}
			head := make([]string, len(t.head))
			for i, cell := range t.head {
				head[i] = strings.ToUpper(cell)
			}
			laid.Add(nil, head...)
			for _, row := range t.rows {
				laid.Add(nil, row...)
			}
			fmt.Fprintf(b, "\n%s", laid.String(width))
		}
	}
	return flush(b)
}

func flush(out *bufio.Writer) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Markdown writes the report for a ticket. Texts of tenants are in code spans.
func (r *Report) Markdown(to io.Writer) error {
	b := bufio.NewWriter(to)
	fmt.Fprintf(b, "# %s\n\n**%s**\n", r.headline(), r.Summary)
	for s := range r.sections() {
		title := s.title
		if s.quoted {
			title = report.Cell(title)
		}
		fmt.Fprintf(b, "\n## %s\n", title)
		for _, note := range s.notes {
			fmt.Fprintf(b, "\n%s\n", note)
		}
		for _, t := range s.tables {
			if len(t.rows) == 0 {
				continue
			}
			fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(t.head, " | "), strings.Repeat(" --- |", len(t.head)))
			for _, row := range t.rows {
				cells := make([]string, len(row))
				for i, cell := range row {
					cells[i] = report.Cell(cell)
				}
				fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
			}
		}
	}
	return flush(b)
}

// CSV writes the report as one table: a row for each gap, interval, change, revision and set of rules.
func (r *Report) CSV(to io.Writer) error {
	out := csv.NewWriter(to) // it keeps errors until it is flushed
	write := func(row []string) {
		for i := range row {
			row[i] = harmless(row[i])
		}
		_ = out.Write(row)
	}
	write([]string{"cluster", "release", "helmrelease", "row", "from", "until", "what", "reason", "revision", "object",
		"change", "field manager", "user", "lived", "details"})
	for _, c := range r.Chains {
		write([]string{"", "", "", "chain", "", "", c.result(), "", "", c.Directory, "", "", "", "", c.Head})
	}
	for _, g := range r.Gaps {
		write([]string{g.Cluster, "", "", "gap", exact(g.From), exact(g.Until), string(Unknown), string(g.Reason),
			"", "", count(g.Count), "", "", "", g.Lease})
	}
	for i := range r.Releases {
		for _, row := range r.Releases[i].csv() {
			write(row)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (r *Release) csv() [][]string {
	var rows [][]string
	add := func(cells ...string) {
		rows = append(rows, append([]string{r.Cluster, r.Namespace + "/" + r.Name, r.HelmRelease}, cells...))
	}
	for _, i := range r.Intervals {
		add("lock", exact(i.From), exact(i.Until), string(i.State), i.Reason, count(i.Revision), "", "", "", "", "",
			i.details())
	}
	for _, c := range r.Changes {
		add("change", exact(c.Time), "", c.Action, "", "", c.Object, c.what(), c.manager(), c.user(), c.Lived,
			count(c.Count))
	}
	for _, v := range r.Revisions {
		reason := ""
		if v.Unexpected {
			reason = v1alpha1.ReasonUnexpectedWriter
		}
		add("revision", exact(v.Time), "", "", reason, fmt.Sprint(v.Revision), "", "", "", v.Writer, "", "")
	}
	for _, v := range r.Rules {
		add("rules", exact(v.From), "", string(v.Mode), "", "", "", "", "", "", "", strings.TrimSpace(fmt.Sprintf(
			"scope %s guard %s account %s ignore %s", v.Scope, v.Guard, v.Account, ignored(v.Rules))))
	}
	return rows
}

// harmless returns a text as a cell of CSV. A spreadsheet takes a text with such a beginning for a formula, also after
// spaces; the apostrophe makes it a text.
func harmless(text string) string {
	text = plain.Line(text)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(text, " \u00a0"))
	if strings.ContainsRune("=+-@|%＝＋－＠", first) {
		return "'" + text
	}
	return text
}
